/**
 * Which partitions a read asks, and for which ids. A record is in the partition of its id, so that each is asked for its own;
 * and what a question to many of them takes while it is on its way is bounded, and charged to the tenant.
 */
import { type ByteLease, heapBytes } from "@sheaf/protocol";
import { partitionOf } from "../../storage/log/partition-of.ts";
import type { Pace } from "../pace.ts";
import type { QueryContext } from "../query-context.ts";
import { chargeFound } from "./found-bytes.ts";
import type { Partition, PartitionQuestion, SelectedIds } from "./partition.ts";

export interface AskedPart {
  readonly partition: Partition;
  readonly ids: SelectedIds;
}

/** As many partitions are asked at a time as this is enough for; one, if it is for none. */
const ON_THE_WAY_BYTES = 2 * 1024 * 1024;
const IDS_PER_LOOK = 256;

interface AskingContext extends Pick<QueryContext, "plan" | "tenant"> {
  readonly partitions: readonly Partition[];
}

/** Whose records the read wants. */
export interface AskedIds {
  readonly ids: SelectedIds;
  /** Partitions that have none of them are left out: the read needs the size of none. */
  readonly isUnsized?: true;
}

/** At least one. */
export async function askedParts(
  { partitions, plan }: AskingContext,
  { ids, isUnsized }: AskedIds,
  pace: Pace,
): Promise<readonly AskedPart[]> {
  // An id stands for the chunks of its document, too, which may be anywhere.
  if (ids === null || plan.chunking !== undefined) return partitions.map((partition) => ({ partition, ids }));
  const own = partitions.map((): string[] => []);
  for (const [i, id] of ids.entries()) {
    own[partitionOf(id, partitions.length)]!.push(id);
    if (i % IDS_PER_LOOK === 0 && pace.isDue) await pace.breathe();
  }
  const parts = partitions.map((partition, n) => ({ partition, ids: own[n]! }));
  if (isUnsized !== true) return parts;
  const asked = parts.filter((part) => part.ids.length > 0);
  // Filters are checked where records are.
  return asked.length > 0 ? asked : parts.slice(0, 1);
}

/** How many of them are asked at a time, and what that takes here. Throws 429 and 503 over the budget. */
export function chargeAsking(
  parts: readonly AskedPart[],
  question: PartitionQuestion,
  tenant: string,
): { readonly together: number; readonly lease: ByteLease } {
  const shared = heapBytes(question);
  // Lists that are the same are packed once.
  const lists = new Map(parts.map(({ ids }) => [ids, ids === null ? 0 : heapBytes(ids)]));
  const sizes = [...lists.values()];
  const most = shared + Math.max(...sizes);
  const together = Math.max(1, Math.min(parts.length, Math.floor(ON_THE_WAY_BYTES / most)));
  const packed = sizes.reduce((sum, bytes) => sum + bytes, shared);
  return { together, lease: chargeFound(tenant, packed + together * most) };
}

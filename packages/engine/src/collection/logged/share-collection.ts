/** What an index node does with a collection: has its index sealed and published, and its log trimmed. */
import { type CancelSignal, SheafError, partitionsOf, throwIfAborted } from "@sheaf/protocol";
import type { Catalog } from "../../catalog/catalog.ts";
import type { IndexJob } from "../../storage/postgres/postgres-index-jobs.ts";
import type { DataFolder } from "../../storage/folder/data-folder.ts";
import type { DiskSpace } from "../../storage/folder/disk-space.ts";
import { partitionName } from "../../storage/folder/partition-name.ts";
import type { CollectionPool } from "../collection-pool.ts";
import { lineageOf } from "../lineage.ts";
import type { CollectionLogs } from "./collection-logs.ts";
import { copyFromLog } from "./open-view.ts";

export interface SharingParts {
  readonly catalog: Pick<Catalog, "entry">;
  readonly pool: Pick<CollectionPool, "open" | "peek" | "use" | "whileClosed">;
  readonly logs: CollectionLogs;
  readonly folder: DataFolder;
  readonly disk: DiskSpace;
  readonly telling: (message: string) => (error: unknown, collection?: string) => void;
}

/** Of the file with a partition's records: for those of the next one, its index, and what both grow by. */
const ROOM = 4;

/** Nothing of it is open afterwards: an index node has a part of all collections' work, and this one may not come back for long. */
export async function shareCollection(
  parts: SharingParts,
  { collection: id, isQuiet }: IndexJob,
  signal: CancelSignal,
): Promise<void> {
  const { catalog, pool, logs, telling } = parts;
  const known = await catalog.entry(id);
  const { tenant, schema } = known;
  const partitions = partitionsOf(schema);
  if (partitions === 1) return shareOne(parts, id, { isQuiet, signal });
  // What a program of before has left there: the collection is opened as a whole only for calls that come to this node itself.
  if (pool.peek(id) === null) await discard(parts, id);
  const log = { id, epoch: lineageOf(known), tenant, partitions };
  const problem = telling("the log of a collection could not be trimmed");
  await logs.trim(log, {
    ...{ isQuiet, signal },
    copy: (until, closing) => copyFromLog(log, parts, { until, signal: closing }),
    onProblem: (error) => problem(error, id),
    // Before the checkpoint, which is of the state that the log had before: what has read the log up to there never reads it.
    before: () => sharePartitions(parts, id, { partitions, signal }),
  });
}

interface SharingPartitions {
  readonly partitions: number;
  readonly signal: CancelSignal;
}

/** One after the other. They stay on the disk for the next time, as far as that has room. */
async function sharePartitions(
  parts: SharingParts,
  id: string,
  { partitions, signal }: SharingPartitions,
): Promise<void> {
  const names = Array.from({ length: partitions }, (_, n) => partitionName(id, n));
  for (const name of names) {
    throwIfAborted(signal);
    const share = (): Promise<void> => shareOne(parts, name, { isQuiet: false, signal });
    await share().catch(async (error: unknown) => {
      if (!isStorageFull(error)) throw error;
      for (const each of names) await discard(parts, each);
      await share();
    });
    if (!hasRoomFor(parts, name)) await discard(parts, name);
  }
}

function discard({ pool, folder }: SharingParts, name: string): Promise<void> {
  return pool.whileClosed(name, () => folder.discardCollection(name));
}

/** Another one that is as large as this. */
function hasRoomFor({ folder, disk }: SharingParts, name: string): boolean {
  try {
    disk.claimFile(ROOM * folder.collectionBytes(name)).release();
    return true;
  } catch (error) {
    if (isStorageFull(error)) return false;
    throw error;
  }
}

function isStorageFull(error: unknown): boolean {
  return error instanceof SheafError && error.code === "storage_full";
}

/** `isQuiet`: as of a job. */
async function shareOne(
  { pool }: SharingParts,
  name: string,
  { isQuiet, signal }: { readonly isQuiet: boolean; readonly signal: CancelSignal },
): Promise<void> {
  try {
    // However long it takes.
    await pool.open(name);
    await pool.use(name, signal, async (collection, dropped) => {
      // Both have ended before it may be closed.
      const outcomes = await Promise.allSettled([
        collection.logged?.checkpoint(isQuiet),
        collection.keeper?.share(dropped),
      ]);
      const failed = outcomes.find((outcome) => outcome.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    });
  } finally {
    await pool.whileClosed(name, async () => {});
  }
}

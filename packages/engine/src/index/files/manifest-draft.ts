/** What a manifest would say of an index at one moment, and the dead rows that belong to it. */
import type { IndexPlan } from "@sheaf/protocol";
import type { DeadRows } from "../../storage/files/dead-rows.ts";
import type { KeyKinds, Manifest, SegmentEntry } from "../../storage/files/manifest.ts";
import type { StoreHead } from "../../storage/record-store.ts";
import type { SealedSegment } from "../../segment/sealed-segment.ts";
import { hasBit } from "../../segment/bits.ts";
import type { LiveSegment } from "../segment-list.ts";

/** An index and its store, all of the same moment. */
export interface IndexState {
  /** Oldest first. */
  readonly entries: readonly LiveSegment[];
  readonly plan: IndexPlan;
  /** The store's. */
  readonly head: StoreHead;
  /** Sequence number of the newest operation that the index has. */
  readonly readable: number;
  /** Of all records that the index has, at least. */
  readonly kinds: () => readonly KeyKinds[];
}

export interface ManifestDraft {
  readonly manifest: Omit<Manifest, "n" | "lineage" | "deadRows">;
  readonly dead: DeadRows;
  /** Live rows of the segments with files. */
  readonly live: number;
}

/** `fileOf`: a segment's file, if it has one with all that the plan asks for. */
export function draftManifest(
  { entries, plan, head, readable, kinds }: IndexState,
  fileOf: (segment: SealedSegment) => SegmentEntry | null,
): ManifestDraft {
  const segments: SegmentEntry[] = [];
  const dead = new Map<string, Uint8Array>();
  let covers = readable;
  let live = 0;
  for (const entry of entries) {
    if (entry.liveCount === 0) continue;
    const { segment } = entry;
    const file = segment.isSealed ? fileOf(segment) : null;
    if (file === null) covers = Math.min(covers, firstSequence(entry) - 1);
    else {
      segments.push(file);
      live += entry.liveCount;
      const bitmap = deadDocs(entry.live);
      if (bitmap !== null) dead.set(file.name, bitmap);
    }
  }
  const sparse = plan.sparse.map(({ key }) => key);
  return { manifest: { covers, head, space: plan.space, sparse, kinds: kinds(), segments }, dead, live };
}

/** Of the live rows. Of a dead one the row that replaced it tells, or nothing has to. */
function firstSequence({ segment, live }: LiveSegment): number {
  let first = Infinity;
  const { sequences } = segment;
  // Indexed and without a list: there may be a million of them.
  for (let docId = 0; docId < sequences.length; docId++)
    if (hasBit(live, docId) && sequences[docId]! < first) first = sequences[docId]!;
  return first;
}

/** `null`: there is none. */
function deadDocs(live: Uint32Array): Uint8Array | null {
  if (live.every((word) => word === 0xffff_ffff)) return null;
  const bytes = new DataView(new ArrayBuffer(live.byteLength));
  for (const [i, word] of live.entries()) bytes.setUint32(i * 4, ~word, true);
  return new Uint8Array(bytes.buffer);
}

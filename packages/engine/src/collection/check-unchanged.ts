/**
 * Whether what a transaction has read is still as it was. A record carries the sequence number of its last change,
 * and the store remembers for a while which records were removed, so a change, a removal and a record that has
 * appeared under a read id are all seen.
 */
import { SheafError, parentOfId } from "@sheaf/protocol";
import { type StoreView, oldestTracked } from "../storage/record-store.ts";
import { idsOfChunks } from "./planning/chunked-documents.ts";

/** What a transaction has read, and the sequence number of the state it read it from. */
export interface ObservedRecords {
  readonly ids: readonly string[];
  readonly sequence: number;
}

/**
 * Throws 409 when a read id has changed since, 412 when that cannot be told any more. `hasChunks`: a document that is cut
 * has changed where one of its chunks has.
 */
export function* checkUnchanged(
  view: StoreView,
  { ids, sequence }: ObservedRecords,
  hasChunks: boolean,
): Generator<void, void> {
  const { head } = view;
  // One that was made of a checkpoint, or purged, does not know what was removed before.
  const oldest = Math.max(oldestTracked(head), view.completeFrom);
  if (sequence > head.sequence || sequence < oldest) {
    throw staleRead("names no state that the collection still knows");
  }
  const absent = new Set<string>();
  for (const id of ids) {
    const chunks = hasChunks ? yield* idsOfChunks(view, id) : [];
    for (const read of [id, ...chunks]) {
      const record = view.find(read);
      if (record === null) absent.add(read);
      else if (record.sequence > sequence) throw conflict(id);
      if (hasChunks) yield;
    }
  }
  if (absent.size === 0) return;
  for (const id of view.removedAfter(sequence)) {
    if (absent.has(id)) throw conflict(id);
    const parent = hasChunks ? parentOfId(id) : null;
    if (parent !== null && absent.has(parent)) throw conflict(parent);
  }
}

/** 412: what was read has to be read again. */
export function staleRead(problem: string): SheafError {
  return new SheafError("stale_read", `read_token: ${problem}; read again`);
}

function conflict(id: string): SheafError {
  return new SheafError(
    "conditional_conflict",
    `conditional write conflict: record ${JSON.stringify(id)} has changed since it was read`,
  );
}

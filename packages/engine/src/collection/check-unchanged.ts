/**
 * Whether what a transaction has read is still as it was. A record carries the sequence number of its last change,
 * and the store remembers for a while which records were removed, so a change, a removal and a record that has
 * appeared under a read id are all seen.
 */
import { SheafError } from "@sheaf/protocol";
import { type StoreView, oldestTracked } from "../storage/record-store.ts";

/** What a transaction has read, and the sequence number of the state it read it from. */
export interface ObservedRecords {
  readonly ids: readonly string[];
  readonly sequence: number;
}

/** Throws 409 when a read id has changed since, 412 when that cannot be told any more. */
export function checkUnchanged(view: StoreView, { ids, sequence }: ObservedRecords): void {
  const { head } = view;
  if (sequence > head.sequence || sequence < oldestTracked(head)) {
    throw staleRead("names no state that the collection still knows");
  }
  const absent = new Set<string>();
  for (const id of ids) {
    const record = view.find(id);
    if (record === null) absent.add(id);
    else if (record.sequence > sequence) throw conflict(id);
  }
  if (absent.size === 0) return;
  for (const id of view.removedAfter(sequence)) if (absent.has(id)) throw conflict(id);
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

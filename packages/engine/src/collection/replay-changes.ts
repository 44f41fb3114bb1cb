/**
 * Brings an index that was read from its files up to the store: applies what later operations did, each record in its
 * newest version. An operation that the files know of already changes nothing.
 */
import { isSliceOver } from "@sheaf/process";
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import type { CollectionIndex } from "../index/collection-index.ts";
import { runInTurns } from "../storage/steps.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import type { SchemaInference } from "./schema-inference.ts";

/** What one operation did to one record. */
export interface RecordChange {
  readonly sequence: number;
  readonly id: string;
  /** `null`: it was removed. */
  readonly record: StoredRecord | null;
}

export interface ReplayTarget {
  readonly index: CollectionIndex;
  readonly kinds: readonly SchemaInference[];
}

/**
 * @param changesAfter What operations after a sequence number did, oldest first; `null`: not known any more. Changes that
 *   newer ones have overtaken may be missing.
 * @returns `false` where the store does not know it any more.
 */
export function replayChanges(
  changesAfter: (sequence: number) => Iterable<RecordChange> | null,
  covers: number,
  target: ReplayTarget,
  signal: CancelSignal,
): Promise<boolean> {
  const steps = replaySteps(changesAfter, covers, target);
  return runInTurns(steps, { onRunning: () => throwIfAborted(signal) });
}

function* replaySteps(
  changesAfter: (sequence: number) => Iterable<RecordChange> | null,
  covers: number,
  { index, kinds }: ReplayTarget,
): Generator<void, boolean> {
  for (let from = covers; ;) {
    const changes = changesAfter(from);
    if (changes === null) return false;
    let isLeft = false;
    for (const change of changes) {
      from = change.sequence;
      replay(change, index);
      if (change.record !== null) for (const known of kinds) known.addAll([change.record]);
      isLeft = isSliceOver();
      if (isLeft) break;
    }
    if (!isLeft) return true;
    yield;
  }
}

function replay({ sequence, id, record }: RecordChange, index: CollectionIndex): void {
  const known = index.versionOf(id);
  if (known !== null && known.sequence >= sequence) return;
  if (record !== null) index.put(record);
  else if (known !== null) index.remove(known.offset);
}

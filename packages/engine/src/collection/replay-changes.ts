/**
 * Brings an index that was read from its files up to the store: applies what later operations did. An operation that the
 * files know of already changes nothing.
 */
import { isSliceOver } from "@sheaf/process";
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import type { CollectionIndex } from "../index/collection-index.ts";
import type { RecordStore, StoredChange } from "../storage/record-store.ts";
import { runInTurns } from "../storage/steps.ts";
import type { SchemaInference } from "./schema-inference.ts";

type Changes = Pick<RecordStore, "changesAfter" | "head">;

export interface ReplayTarget {
  readonly index: CollectionIndex;
  /** What is learnt of the records. */
  readonly kinds: readonly SchemaInference[];
}

/** Returns `false` where the store no longer knows all operations after `covers`. */
export function replayChanges(
  store: Changes,
  covers: number,
  target: ReplayTarget,
  signal: CancelSignal,
): Promise<boolean> {
  return runInTurns(replaySteps(store, covers, target), { onRunning: () => throwIfAborted(signal) });
}

function* replaySteps(store: Changes, covers: number, target: ReplayTarget): Generator<void, boolean> {
  const into = new Float32Array(store.head.dimension ?? 0);
  for (let from = covers; ;) {
    const changes = store.changesAfter(from, into);
    if (changes === "trimmed") return false;
    let isLeft = false;
    for (const change of changes) {
      from = change.sequence;
      replay(change, target);
      isLeft = isSliceOver();
      if (isLeft) break;
    }
    if (!isLeft) return true;
    yield;
  }
}

function replay(change: StoredChange, { index, kinds }: ReplayTarget): void {
  if (change.kind === "superseded") return;
  const id = change.kind === "put" ? change.record.id : change.id;
  const known = index.versionOf(id);
  if (known === null || known.sequence < change.sequence) {
    if (change.kind === "put") index.put(change.record);
    else if (known !== null) index.remove(known.offset);
  }
  if (change.kind === "put") for (const each of kinds) each.addAll([change.record]);
}

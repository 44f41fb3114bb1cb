/**
 * Brings an index that was read from its files up to the store: applies what later operations did. An operation that the
 * files know of already changes nothing.
 */
import { isSliceOver } from "@sheaf/process";
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { RecordStore, StoredChange } from "../../storage/record-store.ts";
import { runInTurns } from "../../storage/steps.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import type { OpeningProgress } from "./opening-progress.ts";
import type { SchemaInference } from "../schema-inference.ts";

type Changes = Pick<RecordStore, "changesAfter" | "head">;

export interface ReplayTarget {
  readonly index: CollectionIndex;
  /** What is learnt of the records. */
  readonly kinds: SchemaInference;
  readonly progress: OpeningProgress;
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
  const changes = store.changesAfter(covers, new Float32Array(store.head.dimension ?? 0));
  if (changes === "trimmed") return false;
  const replay = new Replay(changes, target);
  // Nothing else is written meanwhile, so the changes stay as they are between two steps.
  while (!replay.isDone) {
    yield* target.index.change({ removes: [], puts: replay.puts() });
    yield;
    target.progress.reached(replay.sequence);
    const removed = replay.takeRemoved();
    if (removed !== null) target.index.remove(removed.offset, removed.sequence);
  }
  return true;
}

interface Removed {
  readonly offset: number;
  readonly sequence: number;
}

/** Goes through the changes. Puts in a row enter the index as one batch, for to publish takes longer than a row. */
class Replay {
  readonly #changes: Iterator<StoredChange>;
  readonly #target: ReplayTarget;
  #removed: Removed | null = null;
  isDone = false;
  /** Of the newest change so far. */
  sequence = 0;

  constructor(changes: Iterable<StoredChange>, target: ReplayTarget) {
    this.#changes = changes[Symbol.iterator]();
    this.#target = target;
  }

  /** What the index lacks, until a record was removed or the time is up. */
  *puts(): Generator<StoredRecord> {
    const { index, kinds } = this.#target;
    while (this.#removed === null) {
      const { value: change, done } = this.#changes.next();
      if (done === true) {
        this.isDone = true;
        return;
      }
      this.sequence = change.sequence;
      if (change.kind === "put") {
        kinds.know(change.record);
        if (this.#isNews(index.versionOf(change.record.id), change)) yield change.record;
      } else if (change.kind === "remove") {
        const known = index.versionOf(change.id);
        if (known !== null && this.#isNews(known, change))
          this.#removed = { offset: known.offset, sequence: change.sequence };
      }
      // What changes nothing is no step of the batch.
      if (isSliceOver()) return;
    }
  }

  /** The record that was removed after the puts. */
  takeRemoved(): Removed | null {
    const removed = this.#removed;
    this.#removed = null;
    return removed;
  }

  #isNews(known: { readonly sequence: number } | null, { sequence }: StoredChange): boolean {
    return known === null || known.sequence < sequence;
  }
}

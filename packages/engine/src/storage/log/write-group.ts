/**
 * Writes that share an append. Each is planned on what those before it leave behind, which nobody has yet: so what becomes of
 * a write that fails there, or has nothing to do, is settled with those before it.
 */
import assert from "node:assert";
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { PlanNeeds, StoreChange, StoreView } from "../record-store.ts";
import { type Steps, isInSteps, runInTurns } from "../steps.ts";
import { type Usage, NO_USAGE, addedRecords, fits, sumOf } from "../usage.ts";
import { encodeBatch } from "./batch-codec.ts";
import { type LogBatch, bytesOf } from "./commit-log.ts";
import type { LogView } from "./log-view.ts";
import { PlannedView } from "./planned-view.ts";

/** What an append may take, but for its last batch. */
const GROUP_BYTES = 8 * 1024 * 1024;

export interface OwnWrite {
  /** The same in each attempt: it tells whether one that was not answered is in the log. */
  readonly id: string;
  /** Gives the same on the same state: it may be the first of two attempts that is made. */
  readonly plan: (view: StoreView) => Steps<StoreChange>;
  /** As of `RecordStore.apply`. */
  readonly needs?: (() => readonly PlanNeeds[]) | undefined;
  readonly caller?: CancelSignal | undefined;
  readonly resolve: (change: StoreChange) => void;
  readonly reject: (error: unknown) => void;
}

export interface PlannedWrite {
  readonly write: OwnWrite;
  readonly change: StoreChange;
  readonly batch: LogBatch;
  /** Of the records that it puts, as they are in a store: parts of what the batch is sent from. */
  readonly values: readonly Uint8Array[];
  /** By how much it changes what the collection keeps. */
  readonly usage: Usage;
}

export interface PlannedGroup {
  /** In the order of their sequence numbers. */
  readonly planned: readonly PlannedWrite[];
  /** Tell those that append nothing, once the others are in the log. */
  readonly tell: readonly (() => void)[];
  /** Of the writes, how many these are; the others are too much for one append. */
  readonly count: number;
}

/** @param partitions Of the collection. */
export async function planGroup(
  view: LogView,
  writes: readonly OwnWrite[],
  partitions?: number,
): Promise<PlannedGroup> {
  const before = new PlannedView(view);
  const planned: PlannedWrite[] = [];
  const tell: (() => void)[] = [];
  let [count, bytes] = [0, 0];
  let last: PlannedWrite | null = null;
  for (const write of writes) {
    if (bytes >= GROUP_BYTES) break;
    count += 1;
    // Nothing is planned on top of the last one.
    if (last !== null) before.add(last);
    last = null;
    const one = await planOne(before, write, partitions);
    if (typeof one === "function") {
      tell.push(one);
      continue;
    }
    planned.push(one);
    last = one;
    bytes += bytesOf([one.batch]);
  }
  return { planned, tell, count };
}

/** Or what tells its writer that there is no change. */
async function planOne(
  view: PlannedView,
  write: OwnWrite,
  partitions: number | undefined,
): Promise<PlannedWrite | (() => void)> {
  const { id, plan, resolve, reject } = write;
  try {
    const steps = plan(view);
    const change = isInSteps(steps) ? await runInTurns(steps) : steps;
    const { sequence, nextOffset } = view.head;
    if (change.head.sequence === sequence) {
      // Only operations get into the log.
      assert(change.puts.length + change.removes.length === 0, "a change without an operation");
      return () => resolve(change);
    }
    const replaced = await runInTurns(replacedBytes(view, change));
    const values: Uint8Array[] = [];
    const onValue = (value: Uint8Array): void => void values.push(value);
    const parts = await runInTurns(encodeBatch(change, { partitions, onValue }));
    return {
      ...{ write, change, values },
      batch: { id, sequence: change.head.sequence, parts },
      usage: {
        records: await runInTurns(addedRecords(change, nextOffset)),
        bytes: values.reduce((sum, { length }) => sum + length, -replaced),
      },
    };
  } catch (error) {
    return () => reject(error);
  }
}

/** Of the values that a change takes away or puts others in the place of. */
function* replacedBytes(
  view: Pick<LogView, "head" | "storedBytes">,
  { puts, removes }: StoreChange,
): Generator<void, number> {
  const { nextOffset } = view.head;
  let bytes = 0;
  for (const { offset } of [...removes, ...puts]) {
    // Most are new, and nothing is looked up for those.
    if (offset >= nextOffset) continue;
    bytes += view.storedBytes(offset);
    yield;
  }
  return bytes;
}

export function usageOfAll(planned: readonly Pick<PlannedWrite, "usage">[]): Usage {
  return planned.reduce((sum, { usage }) => sumOf(sum, usage), NO_USAGE);
}

/** How many of the first fit together. */
export function countFitting(
  planned: readonly Pick<PlannedWrite, "usage">[],
  kept: Usage,
  most: Usage,
): number {
  const over = planned.findIndex((_, i) => !fits(usageOfAll(planned.slice(0, i + 1)), kept, most));
  return over < 0 ? planned.length : over;
}

/** Its batch is in the log, and every other server has it. */
export function madeNotStored(cause: unknown): SheafError {
  const words = "the change was made, and could not be stored on this server";
  return new SheafError("unavailable", words, { cause, retryAfterSeconds: 1 });
}

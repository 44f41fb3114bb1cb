/**
 * Begins a read on all partitions at one state of the collection. Each keeps the states that it goes through from the moment
 * it is asked, and the newest of those that they begin with is one that all of them go through; so writers hold no read up.
 */
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { AskedPart } from "./asked-parts.ts";
import type { BegunRead, PartitionQuestion, PartitionRead, PartitionSize } from "./partition.ts";

export interface OpenedPartition extends PartitionSize {
  readonly read: PartitionRead;
  /** The same of all. */
  readonly state: number;
}

interface OpeningOptions {
  /** A state that the read has to see, or a later one. */
  readonly least: number;
  readonly signal: CancelSignal | undefined;
  /** How many partitions are asked at a time. */
  readonly together: number;
}

/** Each is for a read whose state a partition has let go before it was told. */
const MOST_ATTEMPTS = 4;

/** Throws as soon as one partition does: no answer is partial. */
export async function openPartitions(
  parts: readonly AskedPart[],
  question: PartitionQuestion,
  options: OpeningOptions,
): Promise<readonly OpenedPartition[]> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const opened = await openedOnce(parts, question, options);
    if (opened !== null) return opened;
  }
  const words = "too many others write the collection; try again";
  throw new SheafError("unavailable", words, { retryAfterSeconds: 1 });
}

/** `null`: one of them does not have the state any more. */
async function openedOnce(
  parts: readonly AskedPart[],
  question: PartitionQuestion,
  options: OpeningOptions,
): Promise<readonly OpenedPartition[] | null> {
  const begun = await begunReads(parts, question, options);
  try {
    const state = begun.reduce((newest, each) => Math.max(newest, each.state), options.least);
    const sizes = await Promise.all(begun.map(({ read }) => read.settle(state)));
    const opened = begun.flatMap(({ read }, i) => (sizes[i] ? [{ ...sizes[i], read, state }] : []));
    if (opened.length === begun.length) return opened;
    for (const { read } of begun) read.close();
    return null;
  } catch (error) {
    for (const { read } of begun) read.close();
    throw error;
  }
}

async function begunReads(
  parts: readonly AskedPart[],
  question: PartitionQuestion,
  { signal, together }: OpeningOptions,
): Promise<readonly BegunRead[]> {
  const begun: BegunRead[] = [];
  const errors: unknown[] = [];
  const left = parts.entries();
  const beginSome = async (): Promise<void> => {
    // All of them take from the same.
    for (const [at, { partition, ids }] of left) {
      try {
        begun[at] = await partition.begin(question, ids, signal);
      } catch (error) {
        errors.push(error);
      }
      if (errors.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(together, parts.length) }, beginSome));
  if (errors.length === 0) return begun;
  // Places of those that have not begun are empty.
  begun.forEach(({ read }) => read.close());
  throw errors[0];
}

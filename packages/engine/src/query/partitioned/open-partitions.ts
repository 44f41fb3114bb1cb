/**
 * Begins a read on all partitions at one state of the collection. Each keeps the states that it goes through from the moment
 * it is asked, and the newest of those that they begin with is one that all of them go through; so writers hold no read up.
 */
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { BegunRead, Partition, PartitionQuestion, PartitionRead, PartitionSize } from "./partition.ts";

export interface OpenedPartition extends PartitionSize {
  readonly read: PartitionRead;
  /** The same of all. */
  readonly state: number;
}

interface OpeningOptions {
  /** A state that the read has to see, or a later one. */
  readonly least: number;
  readonly signal: CancelSignal | undefined;
}

/** Each is for a read whose state a partition has let go before it was told. */
const MOST_ATTEMPTS = 4;

/** Throws as soon as one partition does: no answer is partial. */
export async function openPartitions(
  partitions: readonly Partition[],
  question: PartitionQuestion,
  options: OpeningOptions,
): Promise<readonly OpenedPartition[]> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const opened = await openedOnce(partitions, question, options);
    if (opened !== null) return opened;
  }
  const words = "too many others write the collection; try again";
  throw new SheafError("unavailable", words, { retryAfterSeconds: 1 });
}

/** `null`: one of them does not have the state any more. */
async function openedOnce(
  partitions: readonly Partition[],
  question: PartitionQuestion,
  { least, signal }: OpeningOptions,
): Promise<readonly OpenedPartition[] | null> {
  const begun = await begunReads(partitions, question, signal);
  try {
    const state = begun.reduce((newest, each) => Math.max(newest, each.state), least);
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
  partitions: readonly Partition[],
  question: PartitionQuestion,
  signal: CancelSignal | undefined,
): Promise<readonly BegunRead[]> {
  const outcomes = await Promise.allSettled(partitions.map((each) => each.begin(question, signal)));
  const begun = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = outcomes.find((each) => each.status === "rejected");
  if (failed === undefined) return begun;
  for (const { read } of begun) read.close();
  throw failed.reason;
}

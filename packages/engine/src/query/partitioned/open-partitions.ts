/**
 * Begins a read on all partitions at one state of the collection. Each keeps the states that it goes through from the moment
 * it is asked, and the newest of those that they begin with is one that all of them go through; so writers hold no read up.
 */
import type { CancelSignal } from "@sheaf/protocol";
import type { BegunRead, Partition, PartitionQuestion, PartitionRead, PartitionSize } from "./partition.ts";

export interface OpenedPartition extends PartitionSize {
  readonly read: PartitionRead;
  /** The same of all. */
  readonly state: number;
}

/** @param least A state that the read has to see, or a later one. Throws as soon as one partition does: no answer is partial. */
export async function openPartitions(
  partitions: readonly Partition[],
  question: PartitionQuestion,
  { least, signal }: { readonly least: number; readonly signal: CancelSignal | undefined },
): Promise<readonly OpenedPartition[]> {
  const begun = await begunReads(partitions, question, signal);
  try {
    const state = begun.reduce((newest, each) => Math.max(newest, each.state), least);
    const sizes = await Promise.all(begun.map(({ read }) => read.settle(state)));
    return begun.map(({ read }, i) => ({ ...sizes[i]!, read, state }));
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

/** A partition that another engine has, whose reads are known by cursors: each question and each answer is a message. */
import type { Partition, PartitionRead } from "../../query/partitioned/partition.ts";

/** A method of a read, by name. */
export interface PartitionAsk {
  readonly method: keyof PartitionRead;
  readonly args: readonly unknown[];
}

export interface BegunPartition {
  /** As of `BegunRead`. */
  readonly state: number;
  readonly cursor: number;
}

/** Where a read goes on. */
export interface AskedRead {
  readonly state: number;
  readonly ask: (ask: PartitionAsk) => Promise<unknown>;
  readonly close: () => void;
}

const METHODS: { readonly [method in keyof PartitionRead]: boolean } = {
  settle: true,
  survey: true,
  nearest: true,
  rank: true,
  next: true,
  sorted: true,
  values: true,
  unitVectors: true,
  records: true,
  named: true,
  countBefore: true,
  tally: true,
  close: false,
};

export class AskedPartition implements Partition {
  readonly #begin: (...asked: Parameters<Partition["begin"]>) => Promise<AskedRead>;

  /** @param begin Rejects with the error of the partition. */
  constructor(begin: (...asked: Parameters<Partition["begin"]>) => Promise<AskedRead>) {
    this.#begin = begin;
  }

  async begin(...asked: Parameters<Partition["begin"]>): ReturnType<Partition["begin"]> {
    const { state, ask, close } = await this.#begin(...asked);
    return { state, read: readOf(ask, close) };
  }
}

/** What `AskedPartition` asks for. Throws where a read has no such method. */
export async function answer(read: PartitionRead, { method, args }: PartitionAsk): Promise<unknown> {
  if (!Object.hasOwn(METHODS, method) || !METHODS[method])
    throw new RangeError(`a read of a partition has no method ${method}`);
  const target = read[method] as (...args: readonly unknown[]) => Promise<unknown>;
  return target.apply(read, [...args]);
}

function readOf(ask: AskedRead["ask"], close: () => void): PartitionRead {
  const read: Record<string, unknown> = { close };
  for (const [method, isAsked] of Object.entries(METHODS)) {
    const name = method as keyof PartitionRead;
    if (isAsked) read[name] = (...args: readonly unknown[]) => ask({ method: name, args });
  }
  return read as unknown as PartitionRead;
}

/** A test collection in partitions, each of which has its own records and index alone, and talks by the bytes of messages. */
import { packMessage, unpackMessage } from "@sheaf/process";
import type { IndexPlan } from "@sheaf/protocol";
import { partitionOf } from "../../storage/log/partition-of.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import { LocalPartition } from "../partitioned/local-partition.ts";
import type { BegunRead, Partition, PartitionRead } from "../partitioned/partition.ts";
import type { PartitionedContext } from "../partitioned/read-partitions.ts";
import type { OracleCollection } from "./oracle.ts";
import { type RecordContent, TestCollection, type TestCollectionOptions } from "./test-collection.ts";

export class PartitionedCollection implements OracleCollection {
  readonly plan: IndexPlan;
  readonly collections: readonly TestCollection[];
  readonly partitions: readonly LocalPartition[];
  /** By partition. */
  readonly #staged: ((collection: TestCollection) => void)[][];
  readonly #offsets = new Map<string, number>();
  #nextOffset = 0;
  #sequence = 0;
  #dimension: number | null = null;

  constructor(plan: IndexPlan, partitions: number, options: TestCollectionOptions = {}) {
    this.plan = plan;
    this.collections = Array.from({ length: partitions }, () => new TestCollection(plan, options));
    this.#staged = this.collections.map(() => []);
    this.partitions = this.collections.map(
      (collection) => new LocalPartition(() => ({ ...collection.context, dimension: this.#dimension })),
    );
  }

  get records(): StoredRecord[] {
    return this.collections.flatMap(({ records }) => records);
  }

  get sequence(): number {
    return this.#sequence;
  }

  get context(): PartitionedContext {
    const { tenant, regexes, times } = this.collections[0]!.context;
    const { plan } = this;
    const partitions = this.partitions.map(byMessages);
    return { plan, dimension: this.#dimension, tenant, regexes, times, partitions, state: this.#sequence };
  }

  put(id: string, content: RecordContent): void {
    this.stage(id, content);
    this.publish();
  }

  remove(id: string): void {
    if (this.stageRemoval(id)) this.publish();
  }

  /** It is of a batch that no partition has come to. */
  stage(id: string, content: RecordContent): void {
    const offset = this.#offsets.get(id) ?? this.#nextOffset++;
    this.#offsets.set(id, offset);
    this.#dimension ??= content.embedding.length;
    const at = { offset, sequence: ++this.#sequence };
    this.#stage(id, (collection) => collection.put(id, content, at));
  }

  /** `false`: there is no such record. */
  stageRemoval(id: string): boolean {
    if (!this.#offsets.delete(id)) return false;
    const at = { sequence: ++this.#sequence };
    this.#stage(id, (collection) => collection.remove(id, at));
    return true;
  }

  /** What was staged is one batch that one partition has come to, or all of them. */
  publish(to?: number): void {
    for (const [partition, changes] of this.#staged.entries()) {
      if (to !== undefined && partition !== to) continue;
      for (const change of changes.splice(0)) change(this.collections[partition]!);
      this.partitions[partition]!.passed(this.#sequence);
    }
  }

  close(): void {
    for (const { index } of this.collections) index.close();
  }

  #stage(id: string, change: (collection: TestCollection) => void): void {
    this.#staged[partitionOf(id, this.#staged.length)]!.push(change);
  }
}

/** Nothing but bytes gets to the partition, and back. */
function byMessages(partition: Partition): Partition {
  return {
    begin: async (question, ids, signal): Promise<BegunRead> => {
      const { state, read } = await partition.begin(await copyOf(question), await copyOf(ids), signal);
      return { state, read: readByMessages(read) };
    },
  };
}

function readByMessages(read: PartitionRead): PartitionRead {
  return {
    settle: (...args) => across(args, (...given) => read.settle(...given)),
    survey: (...args) => across(args, (...given) => read.survey(...given)),
    nearest: (...args) => across(args, (...given) => read.nearest(...given)),
    rank: (...args) => across(args, (...given) => read.rank(...given)),
    next: (...args) => across(args, (...given) => read.next(...given)),
    sorted: (...args) => across(args, (...given) => read.sorted(...given)),
    values: (...args) => across(args, (...given) => read.values(...given)),
    unitVectors: (...args) => across(args, (...given) => read.unitVectors(...given)),
    records: (...args) => across(args, (...given) => read.records(...given)),
    named: (...args) => across(args, (...given) => read.named(...given)),
    countBefore: (...args) => across(args, (...given) => read.countBefore(...given)),
    tally: (...args) => across(args, (...given) => read.tally(...given)),
    close: () => read.close(),
  };
}

async function across<A extends unknown[], T>(args: A, ask: (...args: A) => Promise<T>): Promise<T> {
  return copyOf(await ask(...(await copyOf(args))));
}

async function copyOf<T>(message: T): Promise<T> {
  return (await unpackMessage(packMessage(message))) as T;
}

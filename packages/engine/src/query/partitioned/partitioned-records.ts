/**
 * The records that partitions have found, for the stages behind the leaves. A position is a row of a partition plus the rows
 * of the partitions before it. Values and vectors are those that were fetched; what is held is counted against a budget.
 */
import type { ByteLease, Metadata, MetadataValue, Space } from "@sheaf/protocol";
import { metadataBytes } from "../../storage/values/record-bytes.ts";
import type { RecordValues } from "../group/member-order.ts";
import { chargeFound } from "./found-bytes.ts";
import type { OpenedPartition } from "./open-partitions.ts";
import type { PartitionRead, Rows } from "./partition.ts";

/** What a record takes beside its values: places in maps. */
const RECORD_BYTES = 128;

/** Those of one partition among some positions. */
export interface PartitionShare {
  /** Number of the partition. */
  readonly partition: number;
  readonly read: PartitionRead;
  readonly rows: Int32Array;
  /** Where each stands among the positions. */
  readonly places: readonly number[];
}

export class PartitionedRecords implements RecordValues {
  readonly reads: readonly PartitionRead[];
  /** Live records. */
  readonly size: number;
  /** Of the collection. */
  readonly state: number;
  readonly snapshot: RecordValues["snapshot"];
  /** Above all positions of each partition. */
  readonly #ends: readonly number[];
  readonly #offsets = new Map<number, number>();
  readonly #values = new Map<number, Metadata>();
  readonly #units = new Map<number, Float32Array>();
  readonly #lease: ByteLease;

  constructor(opened: readonly OpenedPartition[], tenant: string) {
    this.reads = opened.map(({ read }) => read);
    this.size = opened.reduce((sum, { records }) => sum + records, 0);
    this.state = opened[0]!.state;
    let end = 0;
    this.#ends = opened.map(({ rows }) => (end += rows));
    this.#lease = chargeFound(tenant, 0);
    this.snapshot = {
      offset: (position) => this.#offsets.get(position)!,
      // A look at what was fetched costs the same whatever it is.
      metadataBytes: () => 0,
    };
  }

  positions(partition: number, rows: Int32Array): Int32Array {
    const base = this.#baseOf(partition);
    return rows.map((row) => base + row);
  }

  /** For what is held of them elsewhere, until the read is over. Throws 429 and 503 over the budget. */
  charge(bytes: number): void {
    this.#lease.grow(bytes);
  }

  /** Their offsets are known from now on. Throws 429 and 503 over the budget. */
  remember(positions: Int32Array, offsets: Float64Array): void {
    this.#lease.grow(positions.length * RECORD_BYTES);
    for (const [i, position] of positions.entries()) this.#offsets.set(position, offsets[i]!);
  }

  /** Positions of some rows of a partition, which are remembered. */
  add(partition: number, { rows, offsets }: Rows): Int32Array {
    const positions = this.positions(partition, rows);
    this.remember(positions, offsets);
    return positions;
  }

  /** By partition, those that have any. */
  divide(positions: Int32Array): readonly PartitionShare[] {
    const shares = new Map<number, { rows: number[]; places: number[] }>();
    for (const [place, position] of positions.entries()) {
      const partition = this.#partitionOf(position);
      let share = shares.get(partition);
      if (share === undefined) shares.set(partition, (share = { rows: [], places: [] }));
      share.rows.push(position - this.#baseOf(partition));
      share.places.push(place);
    }
    return Array.from(shares, ([partition, { rows, places }]) => ({
      ...{ partition, places, read: this.reads[partition]! },
      rows: Int32Array.from(rows),
    }));
  }

  async fetchValues(positions: Int32Array, keys: readonly string[]): Promise<void> {
    const fetch = async ({ read, rows, places }: PartitionShare): Promise<void> => {
      for (const [i, values] of (await read.values(rows, keys)).entries()) {
        this.#lease.grow(metadataBytes(values));
        this.#values.set(positions[places[i]!]!, values);
      }
    };
    await Promise.all(this.divide(positions).map(fetch));
  }

  async fetchUnits(positions: Int32Array, dimension: number): Promise<void> {
    this.#lease.grow(positions.length * dimension * Float32Array.BYTES_PER_ELEMENT);
    const fetch = async ({ read, rows, places }: PartitionShare): Promise<void> => {
      const units = await read.unitVectors(rows);
      for (const [i, place] of places.entries())
        this.#units.set(positions[place]!, units.subarray(i * dimension, (i + 1) * dimension));
    };
    await Promise.all(this.divide(positions).map(fetch));
  }

  metadataValue(position: number, key: string): MetadataValue | undefined {
    return this.#values.get(position)!.get(key);
  }

  unitVector(position: number, _space: Space, unit: Float32Array): void {
    unit.set(this.#units.get(position)!);
  }

  /** What was found for one list is not needed for the next. */
  forget(): void {
    this.#offsets.clear();
    this.#values.clear();
    this.#units.clear();
    this.#lease.shrink(this.#lease.bytes);
  }

  close(): void {
    this.forget();
    this.#lease.release();
    for (const read of this.reads) read.close();
  }

  #baseOf(partition: number): number {
    return partition === 0 ? 0 : this.#ends[partition - 1]!;
  }

  #partitionOf(position: number): number {
    let partition = 0;
    while (position >= this.#ends[partition]!) partition++;
    return partition;
  }
}

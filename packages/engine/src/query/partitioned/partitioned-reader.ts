/** As `ResultReader`, of records that partitions have: they are asked for the next ones of a list at the same time. */
import type { ResultRecord } from "@sheaf/protocol";
import { recordBytes } from "../../storage/values/record-bytes.ts";
import type { PageLeaf } from "../explain/page-leaves.ts";
import { BATCH_BYTES } from "../first-batches.ts";
import type { Pace } from "../pace.ts";
import type { BatchReader, RecordBatch } from "../result-reader.ts";
import type { Fields } from "../select.ts";
import type { PartitionShare, PartitionedRecords } from "./partitioned-records.ts";

/** Of a list that are looked at together. */
const ROWS_AT_ONCE = 256;
/** Asked for of one partition at least. */
const LEAST_BYTES = 16 * 1024;

/** One list of a reply. */
export interface PartitionedList {
  /** Its number in the question. */
  readonly list: number;
  /** The next positions; fewer than `count`: there are no more. */
  readonly next: (count: number, pace: Pace) => Promise<Int32Array>;
  /** By place; `null`: not asked for. */
  readonly scores: Float32Array | null;
  readonly fields: Fields;
  /** What the leaves have of each place; `null`: no traces are asked for. */
  readonly traces: readonly PageLeaf[] | null;
  readonly heldBytes: number;
}

/** A list of known records. */
export function knownRecords(positions: Int32Array): Pick<PartitionedList, "next" | "heldBytes"> {
  let at = 0;
  const next = (count: number): Promise<Int32Array> => Promise.resolve(positions.subarray(at, (at += count)));
  return { next, heldBytes: positions.byteLength };
}

export class PartitionedReader implements BatchReader {
  readonly #records: PartitionedRecords;
  readonly #lists: readonly PartitionedList[];
  #firstBytes: (() => number) | null;
  /** The list that is read, and the place of `#window[0]` in it. */
  #number = 0;
  #place = 0;
  /** Positions that are next. */
  #window: Int32Array = new Int32Array(0);
  #at = 0;
  #isLast = false;
  /** Fetched, of the window. */
  readonly #ready = new Map<number, ResultRecord>();

  /** @param firstBytes That the first batch may have. */
  constructor(records: PartitionedRecords, lists: readonly PartitionedList[], firstBytes: () => number) {
    this.#records = records;
    this.#lists = lists;
    this.#firstBytes = firstBytes;
  }

  get isDone(): boolean {
    return this.#number === this.#lists.length;
  }

  get heldBytes(): number {
    return this.#lists.slice(this.#number).reduce((sum, { heldBytes }) => sum + heldBytes, 0);
  }

  async nextBatch(pace: Pace): Promise<RecordBatch> {
    const isFirst = this.#firstBytes !== null;
    const most = this.#firstBytes?.() ?? BATCH_BYTES;
    this.#firstBytes = null;
    const first = this.#number;
    const lists: ResultRecord[][] = [];
    let bytes = 0;
    let isFull = false;
    for (let list = this.#lists[first]; list !== undefined; list = this.#lists[this.#number]) {
      const into = (lists[this.#number - first] ??= []);
      if (!(await this.#seek(list, pace))) {
        this.#nextList();
        continue;
      }
      // Whether there is a next batch is known as soon as this one is full.
      if (isFull) break;
      const record = await this.#next(list, most);
      const size = recordBytes(record);
      isFull = isFirst && bytes + size > most;
      if (isFull) break;
      into.push(list.scores === null ? record : { ...record, score: list.scores[this.#place + this.#at]! });
      bytes += size;
      isFull = bytes >= most;
      this.#ready.delete(this.#window[this.#at++]!);
      if (pace.spend(size)) await pace.breathe();
    }
    return { first, lists };
  }

  /** `false`: the list is at its end. */
  async #seek({ next }: PartitionedList, pace: Pace): Promise<boolean> {
    if (this.#at < this.#window.length) return true;
    if (this.#isLast) return false;
    this.#place += this.#window.length;
    this.#window = await next(ROWS_AT_ONCE, pace);
    this.#at = 0;
    this.#isLast = this.#window.length < ROWS_AT_ONCE;
    return this.#window.length > 0;
  }

  #nextList(): void {
    this.#number++;
    this.#place = 0;
    this.#window = new Int32Array(0);
    this.#at = 0;
    this.#isLast = false;
  }

  async #next(list: PartitionedList, bytes: number): Promise<ResultRecord> {
    const position = this.#window[this.#at]!;
    const ready = this.#ready.get(position);
    if (ready !== undefined) return ready;
    const missing = this.#window.subarray(this.#at).filter((each) => !this.#ready.has(each));
    const shares = this.#records.divide(missing);
    const share = Math.max(LEAST_BYTES, bytes / shares.length);
    await Promise.all(shares.map((each) => this.#fetch(list, missing, each, share)));
    return this.#ready.get(position)!;
  }

  async #fetch(
    { list, fields, traces }: PartitionedList,
    positions: Int32Array,
    { read, rows, places }: PartitionShare,
    bytes: number,
  ): Promise<void> {
    const placesOnPage = places.map((place) => this.#place + this.#window.indexOf(positions[place]!));
    const found = traces?.map(({ ranks, distances }) => ({
      ranks: Int32Array.from(placesOnPage, (place) => ranks[place]!),
      distances: Float32Array.from(placesOnPage, (place) => distances[place]!),
    }));
    const records = await read.records({ list, rows, fields, bytes, traces: found ?? null });
    for (const [i, record] of records.entries()) this.#ready.set(positions[places[i]!]!, record);
  }
}

/** The records of a list in the order of insertion: a merge of those of the partitions, fetched as they are asked for. */
import type { Pace } from "../pace.ts";
import type { PartitionedRecords } from "./partitioned-records.ts";

/** Asked for at once, of each partition. */
const ROWS_AT_ONCE = 1_024;
/** The same of all partitions where many are wanted, so that these are not as many round trips: 12 bytes each. */
const MOST_ROWS = 65_536;
const OFFSET_BYTES = 8;

interface Run {
  positions: Int32Array;
  offsets: Float64Array;
  at: number;
  /** Behind these there are no more. */
  isLast: boolean;
}

export class InsertionOrder {
  readonly #list: number;
  readonly #records: PartitionedRecords;
  readonly #runs: Run[];

  constructor(list: number, records: PartitionedRecords) {
    this.#list = list;
    this.#records = records;
    this.#runs = records.reads.map(() => ({
      ...{ positions: new Int32Array(0), offsets: new Float64Array(0) },
      ...{ at: 0, isLast: false },
    }));
  }

  async skip(count: number, pace: Pace): Promise<void> {
    for (let left = count; left > 0;) {
      const { length } = await this.next(Math.min(left, MOST_ROWS), pace);
      if (length === 0) return;
      left -= length;
    }
  }

  /** Positions of the next records; fewer than `count`: there are no more. */
  async next(count: number, pace: Pace): Promise<Int32Array> {
    const positions: number[] = [];
    await this.#take(count, pace, ({ positions: of, at }) => void positions.push(of[at]!));
    return Int32Array.from(positions);
  }

  /** Offsets of the next records, as `next`. 429 and 503 where they are too many to be held. */
  async offsets(count: number, pace: Pace): Promise<number[]> {
    const offsets: number[] = [];
    await this.#take(count, pace, ({ offsets: of, at }) => {
      if (offsets.push(of[at]!) % ROWS_AT_ONCE === 0) this.#records.charge(ROWS_AT_ONCE * OFFSET_BYTES);
    });
    return offsets;
  }

  async #take(count: number, pace: Pace, use: (run: Run) => void): Promise<void> {
    for (let taken = 0; taken < count;) {
      if (this.#runs.some(isUsedUp)) await this.#fill(this.#rowsAtOnce(count - taken));
      const first = this.#first();
      if (first === null) return;
      use(first);
      first.at++;
      if (++taken % ROWS_AT_ONCE === 0) await pace.breathe();
    }
  }

  #rowsAtOnce(wanted: number): number {
    const share = Math.ceil(Math.min(wanted, MOST_ROWS) / this.#runs.length);
    return Math.min(wanted, Math.max(share, ROWS_AT_ONCE));
  }

  #first(): Run | null {
    let first: Run | null = null;
    for (const run of this.#runs)
      if (run.at < run.offsets.length && !(first !== null && first.offsets[first.at]! < run.offsets[run.at]!))
        first = run;
    return first;
  }

  async #fill(count: number): Promise<void> {
    const fetch = async (run: Run, partition: number): Promise<void> => {
      if (!isUsedUp(run)) return;
      const { rows, offsets } = await this.#records.reads[partition]!.next(this.#list, count);
      run.positions = this.#records.positions(partition, rows);
      run.offsets = offsets;
      run.at = 0;
      run.isLast = rows.length < count;
    };
    await Promise.all(this.#runs.map(fetch));
  }
}

/** Whether it has to be asked for before anybody knows which record is next. */
function isUsedUp({ at, offsets, isLast }: Run): boolean {
  return !isLast && at === offsets.length;
}

/**
 * Hands out the records of a read in batches of about a MiB. What was selected is positions and scores; a record is
 * read when its batch is made, so that a read holds little however much it selects. Every batch is made of fresh,
 * short looks into the store through one view.
 */
import { type ResultRecord, abortable } from "@sheaf/protocol";
import type { ResultBatch } from "../engine.ts";
import type { PerhapsAbsent } from "../storage/data-absent.ts";
import { recordBytes } from "../storage/values/record-bytes.ts";
import { type Steps, isInSteps } from "../storage/steps.ts";
import { TurnLock } from "../storage/turn-lock.ts";
import { BATCH_BYTES } from "./first-batches.ts";
import type { PageTraces } from "./explain/traces.ts";
import type { Scored } from "./score-order.ts";
import type { Pace } from "./pace.ts";
import type { RecordView } from "./record-view.ts";
import { type Fields, type RecordInMaking, selectRecord } from "./select.ts";

/** What is left may be so much that it is worth looking how much it is. */
const WORTH_LOOKING_BYTES = 256 * 1024 * 1024;
const RECORDS_PER_BREATH = 64;
const BYTES_PER_BREATH = 128 * 1024;

/** Long records are read one at a time over all reads, tenants in turn, for each is in memory more than once meanwhile. */
const longReads = new TurnLock();

/** One list of a reply: which records, in which order. */
export interface SelectedList {
  readonly positions: Iterator<number, undefined>;
  /** The same, where they are known; `null`: they are found as the list is read. */
  readonly known: Int32Array | null;
  /** Of each position; `null`: not asked for. */
  readonly scores: Float32Array | null;
  readonly fields: Fields;
  /** Positions to leave out at the beginning, and records to show after them. */
  readonly skip: number;
  readonly limit: number;
  /** What is held for it. */
  readonly heldBytes: number;
  /** How each score came about, if that was asked for; `null`: it has none to trace. */
  readonly traces?: PageTraces | null | undefined;
}

/** A batch as it leaves the reader. */
export type RecordBatch = Pick<ResultBatch, "first" | "lists">;

/** A list of records that are known already. */
export function listOf(
  { positions, scores }: Scored,
  fields: Fields,
  traces?: PageTraces | null,
): SelectedList {
  return {
    traces,
    positions: positions.values(),
    known: positions,
    scores: fields.score ? scores : null,
    fields,
    skip: 0,
    limit: positions.length,
    heldBytes: positions.byteLength + scores.byteLength + (traces?.heldBytes ?? 0),
  };
}

/** Hands out what is left of a read. */
export interface BatchReader {
  /** Where the records come from; left out: they are here. */
  readonly source?: PerhapsAbsent;
  /** All records of all lists were handed out. */
  readonly isDone: boolean;
  /** Bytes that are held for what is left. */
  readonly heldBytes: number;
  nextBatch(pace: Pace): Promise<RecordBatch>;
}

export class ResultReader implements BatchReader {
  readonly #view: RecordView;
  readonly #firstBytes: () => number;
  /** Lists that are not at their end. */
  readonly #lists: SelectedList[] = [];
  /** Number of `#lists[0]`. */
  #number = 0;
  /** The next record of `#lists[0]`: its place and position; `null`: not looked up yet. */
  #place = 0;
  #position: number | null = null;
  /** The batch that is made. */
  #batch: ResultRecord[][] = [];
  #batchFirst = 0;
  #batchBytes = 0;
  #isFull = false;
  /** Bytes of the longest record so far. */
  #longest = 0;
  #isFirst = true;

  /** `firstBytes`: that the first batch may have; others are full from `BATCH_BYTES` on, and one record may be longer. */
  constructor(view: RecordView, firstBytes: () => number = () => BATCH_BYTES) {
    this.#view = view;
    this.#firstBytes = firstBytes;
  }

  get source(): PerhapsAbsent {
    return this.#view.source;
  }

  /** The batch that is made has room: records of the next list will be read at once. */
  get hasRoom(): boolean {
    return !this.#isFull;
  }

  /** All records of all lists were handed out, or are in the batch. */
  get isDone(): boolean {
    return this.#lists.length === 0;
  }

  /** Bytes that are held for what is left. */
  get heldBytes(): number {
    return this.#lists.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
  }

  /** Adds the next list, and reads its records into the first batch while that has room. */
  async add(list: SelectedList, pace: Pace): Promise<void> {
    const { known, skip, limit } = list;
    const page = known !== null && !this.#isFull ? known.subarray(skip, skip + limit) : null;
    const ready = page && this.#view.prepare(page);
    if (ready) await abortable(ready, pace.signal);
    this.#lists.push(list);
    if (!this.#isFull) await this.#fill(pace);
  }

  /**
   * Bytes that the documents of what is left are about, so that nobody begins with what is too much in any case. Where
   * records are short it is not worth looking: 0.
   */
  async leastBytes(pace: Pace): Promise<number> {
    const records = this.#lists.reduce((sum, { known }) => sum + (known?.length ?? 0), 0);
    if (records * this.#longest < WORTH_LOOKING_BYTES) return 0;
    const known = new Map<number, number>();
    let bytes = 0;
    for (const [i, list] of this.#lists.entries()) {
      if (list.known === null || !list.fields.document) continue;
      for (const position of list.known.subarray(i === 0 ? this.#place : 0)) {
        let length = known.get(position);
        if (length === undefined) {
          known.set(position, (length = this.#view.documentBytes(position)));
          await pace.breathe();
        }
        bytes += length;
      }
    }
    return bytes;
  }

  /** Once all lists are added. */
  firstBatch(): RecordBatch {
    return this.#take();
  }

  async nextBatch(pace: Pace): Promise<RecordBatch> {
    await this.#fill(pace);
    return this.#take();
  }

  #take(): RecordBatch {
    const batch = { first: this.#batchFirst, lists: this.#batch };
    this.#batch = [];
    this.#batchFirst = this.#number;
    this.#batchBytes = 0;
    this.#isFull = false;
    this.#isFirst = false;
    return batch;
  }

  async #fill(pace: Pace): Promise<void> {
    // Others may have used up the slice of this turn since the read began.
    if (pace.isDue) await pace.breathe();
    let records = 0;
    let bytes = 0;
    for (let list = this.#lists[0]; list !== undefined && !this.#isFull; list = this.#lists[0]) {
      const into = this.#begun();
      if (!this.#seek(list)) {
        this.#nextList();
        continue;
      }
      const isSkipped = this.#place < list.skip;
      if (isSkipped) this.#pass();
      else {
        const selected = this.#select(this.#position!, list);
        // What is too long for an answer that begins a read comes with the next batch.
        if (!isInSteps(selected)) bytes += this.#add(selected, list, into);
        else if (this.#isFirst) this.#leaveLong();
        else bytes += this.#add(await readLong(selected, pace), list, into);
      }
      if (++records % RECORDS_PER_BREATH !== 0 && bytes < BYTES_PER_BREATH) continue;
      bytes = 0;
      await pace.breathe();
    }
    // Whether there is a next batch is known as soon as this one is full.
    for (let list = this.#lists[0]; list !== undefined; list = this.#lists[0]) {
      this.#begun();
      if (this.#seek(list)) return;
      this.#nextList();
    }
  }

  #select(position: number, { fields, traces, skip }: SelectedList): Steps<RecordInMaking> {
    const selected = selectRecord(position, fields, this.#view);
    if (!traces) return selected;
    return withTrace(selected, traces.of(this.#place - skip, position));
  }

  /** The current list as far as the batch has it. */
  #begun(): ResultRecord[] {
    return (this.#batch[this.#number - this.#batchFirst] ??= []);
  }

  #leaveLong(): void {
    this.#longest = Math.max(this.#longest, this.#view.documentBytes(this.#position!));
    this.#isFull = true;
  }

  /** The record that was read, unless the batch is full; returns its bytes. */
  #add(record: RecordInMaking, list: SelectedList, into: ResultRecord[]): number {
    const bytes = recordBytes(record);
    this.#longest = Math.max(this.#longest, bytes);
    // An answer that begins a read is small whatever the records are; what is too long for it comes with the next.
    const most = this.#isFirst ? this.#firstBytes() : BATCH_BYTES;
    if (this.#isFirst && this.#batchBytes + bytes > most) {
      this.#isFull = true;
      return bytes;
    }
    if (list.scores !== null) record.score = list.scores[this.#place]!;
    into.push(record);
    this.#batchBytes += bytes;
    this.#isFull = this.#batchBytes >= most;
    this.#pass();
    return bytes;
  }

  /** `false`: the list is at its end. */
  #seek(list: SelectedList): boolean {
    if (this.#position !== null) return true;
    if (this.#place >= list.skip + list.limit) return false;
    const next = list.positions.next();
    if (next.done === true) return false;
    this.#position = next.value;
    return true;
  }

  #pass(): void {
    this.#place++;
    this.#position = null;
  }

  #nextList(): void {
    this.#lists.shift();
    this.#number++;
    this.#place = 0;
    this.#position = null;
  }
}

/** In steps if either is. */
function withTrace(selected: Steps<RecordInMaking>, trace: Steps<string>): Steps<RecordInMaking> {
  if (isInSteps(selected) || isInSteps(trace)) return tracedInSteps(selected, trace);
  selected.trace = trace;
  return selected;
}

function* tracedInSteps(
  selected: Steps<RecordInMaking>,
  trace: Steps<string>,
): Generator<void, RecordInMaking> {
  const record = isInSteps(selected) ? yield* selected : selected;
  record.trace = isInSteps(trace) ? yield* trace : trace;
  return record;
}

async function readLong(steps: Generator<void, RecordInMaking>, pace: Pace): Promise<RecordInMaking> {
  const leave = await longReads.enter(pace.tenant);
  try {
    for (;;) {
      await pace.breathe();
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  } finally {
    leave();
  }
}

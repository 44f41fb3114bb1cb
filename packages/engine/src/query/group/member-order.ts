/**
 * The best k members of a group by the keys of its aggregate, or of all records by those of `order_by`, found with pauses. Of their values only short ones are kept beside the
 * members: long strings are compared by how they begin, and read again where that is the same, as arrays are always.
 */
import {
  type GroupBy,
  type MetadataScalar,
  type MetadataValue,
  type Space,
  isSparseVector,
} from "@sheaf/protocol";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import { compareTotal } from "../../segment/total-order.ts";
import { compareMetadata } from "../metadata-order.ts";
import type { Pace } from "../pace.ts";
import type { RecordView } from "../record-view.ts";

export const SCORE_KEY = "#score";
/** What the pace is told of a value that is read, beside its bytes: some microseconds of cold memory. */
const READ_BYTES = 1_024;
/** As `READ_BYTES`, for a member that finds its place among those kept. */
const PLACING_BYTES = 1_024;
/** A sparse vector comes with its whole record from the store. */
const SPARSE_BYTES = 1024 * 1024;
const KEPT_CHARACTERS = 64;

/** Of a value that is not kept: how a string begins; `null`: it is an array or a sparse vector, after all scalars. */
class Unkept {
  readonly beginning: string | null;

  constructor(beginning: string | null) {
    this.beginning = beginning;
  }
}

export type KeptValue = MetadataScalar | Unkept | undefined;

export interface Member {
  /** In the ranking. */
  readonly place: number;
  readonly position: number;
  readonly score: number;
  /** By `MemberOrder.fields`. */
  readonly values: readonly KeptValue[];
}

interface FieldOrder {
  /** Place in `fields`; -1 is the score. */
  readonly field: number;
  readonly direction: number;
  /** Where a missing value is beside the others, before the direction counts. */
  readonly missing: number;
}

/** What the stages behind the leaves ask of records, wherever these are. */
export interface RecordValues {
  readonly snapshot: Pick<IndexSnapshot, "offset" | "metadataBytes">;
  metadataValue(position: number, key: string): MetadataValue | undefined;
  unitVector(position: number, space: Space, unit: Float32Array): void;
}

/** Where values of records are read, and how long the thread is held. */
export interface ValueReading {
  readonly view: RecordValues;
  readonly pace: Pace;
}

/** The same where the records are. */
export interface Reading extends ValueReading {
  readonly view: RecordView;
}

export function keptValue(value: MetadataValue | undefined): KeptValue {
  if (typeof value === "object") return new Unkept(null);
  if (typeof value !== "string" || value.length <= KEPT_CHARACTERS) return value;
  // A slice of a string keeps all of it in memory.
  const beginning = Buffer.from(value.slice(0, KEPT_CHARACTERS), "utf16le");
  return new Unkept(beginning.toString("utf16le"));
}

/** What to tell the pace of a value that was read. */
export function readBytes(
  value: MetadataValue | undefined,
  position: number,
  { view }: ValueReading,
): number {
  const bytes = READ_BYTES + view.snapshot.metadataBytes(position);
  if (typeof value !== "object") return bytes;
  if (isSparseVector(value)) return bytes + SPARSE_BYTES;
  return bytes + (ArrayBuffer.isView(value) ? value.byteLength : 0);
}

/** By what members are ordered, and in which direction. */
export interface MemberKey {
  /** A metadata key or `#score`. */
  readonly key: string;
  readonly descending: boolean;
  /** Members without a value come last in either direction; else it counts as smaller than every other. */
  readonly missingLast: boolean;
}

/** The keys of an aggregate. */
export function aggregateKeys({ operator, keys }: GroupBy["aggregate"]): readonly MemberKey[] {
  const descending = operator === "$max_k";
  return [...new Set(keys)].map((key) => ({ key, descending, missingLast: false }));
}

/** Which of two members is better; of equals the one whose place is first. */
export class MemberOrder {
  /** Metadata keys, each once. */
  readonly fields: readonly string[];
  readonly #keys: readonly FieldOrder[];
  readonly #reading: ValueReading;

  /** Each key once. */
  constructor(keys: readonly MemberKey[], reading: ValueReading) {
    this.fields = keys.map(({ key }) => key).filter((key) => key !== SCORE_KEY);
    this.#keys = keys.map(({ key, descending, missingLast }) => ({
      field: this.fields.indexOf(key),
      direction: descending ? -1 : 1,
      missing: missingLast && !descending ? 1 : -1,
    }));
    this.#reading = reading;
  }

  /** In no order: the last of them is at the beginning where there were more than `k`. */
  async best(members: Iterable<Member>, k: number): Promise<readonly Member[]> {
    return this.#heapOf(members, k);
  }

  /** Best first. */
  async sorted(members: Iterable<Member>, k: number): Promise<readonly Member[]> {
    const { pace } = this.#reading;
    const heap = await this.#heapOf(members, k);
    for (let last = heap.length - 1; last > 0; last--) {
      [heap[0], heap[last]] = [heap[last]!, heap[0]!];
      await this.#siftDown(heap, 0, last);
      if (pace.spend(PLACING_BYTES)) await pace.breathe();
    }
    return heap;
  }

  /** A heap of the best whose root is the worst of them. */
  async #heapOf(members: Iterable<Member>, k: number): Promise<Member[]> {
    const { pace } = this.#reading;
    const heap: Member[] = [];
    let isHeap = false;
    for (const member of members) {
      if (heap.length < k) heap.push(member);
      else {
        if (!isHeap) await this.#heapify(heap);
        isHeap = true;
        let order = this.#compareKept(member, heap[0]!);
        if (Number.isNaN(order)) order = await this.#compareWhole(member, heap[0]!);
        if (order < 0) {
          heap[0] = member;
          await this.#siftDown(heap, 0, k);
        }
      }
      if (pace.spend(PLACING_BYTES)) await pace.breathe();
    }
    if (!isHeap) await this.#heapify(heap);
    return heap;
  }

  async #heapify(heap: Member[]): Promise<void> {
    const { pace } = this.#reading;
    for (let at = (heap.length >>> 1) - 1; at >= 0; at--) {
      await this.#siftDown(heap, at, heap.length);
      if (pace.spend(PLACING_BYTES)) await pace.breathe();
    }
  }

  async #siftDown(heap: Member[], from: number, length: number): Promise<void> {
    const moved = heap[from]!;
    let at = from;
    for (let child = 2 * at + 1; child < length; child = 2 * at + 1) {
      if (child + 1 < length) {
        let order = this.#compareKept(heap[child + 1]!, heap[child]!);
        if (Number.isNaN(order)) order = await this.#compareWhole(heap[child + 1]!, heap[child]!);
        if (order > 0) child++;
      }
      let order = this.#compareKept(heap[child]!, moved);
      if (Number.isNaN(order)) order = await this.#compareWhole(heap[child]!, moved);
      if (order < 0) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = moved;
  }

  /** Negative where `a` is better. NaN: what is kept does not tell. */
  #compareKept(a: Member, b: Member): number {
    for (const key of this.#keys) {
      const order = compareKept(a, b, key);
      // NaN is one that is not 0.
      if (order !== 0) return key.direction * order;
    }
    return a.place - b.place;
  }

  async #compareWhole(a: Member, b: Member): Promise<number> {
    const { pace } = this.#reading;
    for (const key of this.#keys) {
      let order = compareKept(a, b, key);
      if (Number.isNaN(order)) {
        order = compareMetadata(this.#read(a, key.field), this.#read(b, key.field));
        if (pace.spend(0)) await pace.breathe();
      }
      if (order !== 0) return key.direction * order;
    }
    return a.place - b.place;
  }

  #read({ position }: Member, field: number): MetadataValue | undefined {
    const { view, pace } = this.#reading;
    const value = view.metadataValue(position, this.fields[field]!);
    pace.spend(readBytes(value, position, this.#reading));
    return value;
  }
}

/** As `compareMetadata`, but for missing values; NaN: what is kept does not tell. */
function compareKept(a: Member, b: Member, { field, missing }: FieldOrder): number {
  if (field === -1) return compareTotal(a.score, b.score);
  const x = a.values[field];
  const y = b.values[field];
  if (x === undefined || y === undefined)
    return missing * (Number(x === undefined) - Number(y === undefined));
  if (!(x instanceof Unkept) && !(y instanceof Unkept)) return compareMetadata(x, y);
  const isList = isUnkeptList(x);
  if (isList || isUnkeptList(y)) return isList && isUnkeptList(y) ? Number.NaN : isList ? 1 : -1;
  // A string that is kept is no longer than what is kept of the others, so it cannot seem to come after one that goes on.
  const order = compareMetadata(beginningOf(x), beginningOf(y));
  return order === 0 ? Number.NaN : order;
}

function isUnkeptList(value: KeptValue): boolean {
  return value instanceof Unkept && value.beginning === null;
}

function beginningOf(value: KeptValue): MetadataScalar | undefined {
  return value instanceof Unkept ? (value.beginning ?? undefined) : value;
}

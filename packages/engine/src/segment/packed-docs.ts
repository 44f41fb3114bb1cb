/**
 * Which record each row of a sealed segment is of, in typed arrays alone: a JavaScript object for each row would take
 * several times the memory, and every full garbage collection would visit it. Ids are UTF-8, one after the other. An id
 * is looked up by its hash of 64 bits, an offset in a list that is sorted by it.
 */
import { sortedOrder } from "./sorted-order.ts";

/** Rows between two pauses. */
const PER_SLICE = 2_048;
/** So that nobody can choose ids that all have one hash. */
const SEED = Math.floor(Math.random() * 2 ** 32);

/** Of a row: what `PackedDocs.write` is told. */
export interface DocIdentity {
  readonly docId: number;
  readonly offset: number;
  readonly sequence: number;
  readonly id: string;
}

export class PackedDocs {
  readonly offsets: Float64Array;
  readonly sequences: Float64Array;
  #minOffset = Infinity;
  /** The row's id is `#bytes` from `#starts[docId]` on, `#lengths[docId]` of them. */
  readonly #starts: Uint32Array;
  readonly #lengths: Uint32Array;
  #bytes: Buffer = Buffer.alloc(0);
  #byOffset: Uint32Array = new Uint32Array(0);
  /** Of the rows in `#byHash`. */
  #high = new Uint32Array(0);
  #low = new Uint32Array(0);
  #byHash = new Uint32Array(0);

  private constructor(capacity: number) {
    this.offsets = new Float64Array(capacity);
    this.sequences = new Float64Array(capacity);
    this.#starts = new Uint32Array(capacity);
    this.#lengths = new Uint32Array(capacity);
  }

  /** Pauses about every millisecond. */
  static *write(capacity: number, docs: Iterable<DocIdentity>): Generator<void, PackedDocs> {
    const packed = new PackedDocs(capacity);
    yield* packed.#fill(docs);
    return packed;
  }

  get minOffset(): number {
    return this.#minOffset;
  }

  idAt(docId: number): string {
    const start = this.#starts[docId]!;
    return this.#bytes.toString("utf8", start, start + this.#lengths[docId]!);
  }

  /** DocIds of all rows, ascending by offset. */
  get byOffset(): Uint32Array {
    return this.#byOffset;
  }

  /** -1: no row has it. */
  docOfOffset(offset: number): number {
    const docIds = this.#byOffset;
    const at = lowerBound(docIds.length, (i) => this.offsets[docIds[i]!]! < offset);
    return at < docIds.length && this.offsets[docIds[at]!] === offset ? docIds[at]! : -1;
  }

  /** -1: no row has it. */
  docOfId(id: string): number {
    const { high, low } = hashOf(id);
    let at = lowerBound(this.#high.length, (i) => this.#high[i]! < high);
    for (; this.#high[at] === high; at++) {
      if (this.#low[at] === low && this.idAt(this.#byHash[at]!) === id) return this.#byHash[at]!;
    }
    return -1;
  }

  *#fill(docs: Iterable<DocIdentity>): Generator<void> {
    const capacity = this.offsets.length;
    let bytes = Buffer.allocUnsafeSlow(32 * capacity);
    let end = 0;
    let count = 0;
    const docIds = new Uint32Array(capacity);
    const high = new Uint32Array(capacity);
    const low = new Uint32Array(capacity);
    for (const { docId, offset, sequence, id } of docs) {
      this.offsets[docId] = offset;
      this.sequences[docId] = sequence;
      this.#minOffset = Math.min(this.#minOffset, offset);
      // A code unit is at most three bytes.
      const room = end + 3 * id.length;
      if (room > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(2 * room);
        bytes.copy(larger, 0, 0, end);
        bytes = larger;
      }
      this.#starts[docId] = end;
      this.#lengths[docId] = bytes.write(id, end, "utf8");
      end += this.#lengths[docId];
      const hash = hashOf(id);
      high[count] = hash.high;
      low[count] = hash.low;
      docIds[count++] = docId;
      if (count % PER_SLICE === 0) yield;
    }
    this.#bytes = Buffer.allocUnsafeSlow(end);
    bytes.copy(this.#bytes, 0, 0, end);
    const { offsets } = this;
    const byOffset = yield* sortedOrder(count, (a, b) => offsets[docIds[a]!]! - offsets[docIds[b]!]!);
    this.#byOffset = byOffset.map((i) => docIds[i]!);
    const byHash = yield* sortedOrder(count, (a, b) => high[a]! - high[b]! || low[a]! - low[b]!);
    this.#high = byHash.map((i) => high[i]!);
    this.#low = byHash.map((i) => low[i]!);
    this.#byHash = byHash.map((i) => docIds[i]!);
  }
}

/** The first number below `count` for which `isBelow` is false. */
function lowerBound(count: number, isBelow: (i: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Two hashes of 32 bits over the code units. */
function hashOf(id: string): { readonly high: number; readonly low: number } {
  let high = SEED;
  let low = ~SEED;
  for (let i = 0; i < id.length; i++) {
    const unit = id.charCodeAt(i);
    high = Math.imul(high ^ unit, 0x9e37_79b1);
    high ^= high >>> 15;
    low = Math.imul(low ^ unit, 0x85eb_ca6b);
    low ^= low >>> 13;
  }
  return { high: Math.imul(high, 0xc2b2_ae35) >>> 0, low: Math.imul(low, 0x2c1b_3c6d) >>> 0 };
}

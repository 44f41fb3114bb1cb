/**
 * Which record each row of a sealed segment is of, in typed arrays alone: a JavaScript object for each row would take
 * several times the memory, and every full garbage collection would visit it. Ids are UTF-8, one after the other. An id
 * is looked up by its hash of 64 bits, an offset in a list that is sorted by it. The same arrays lie in the segment's
 * file.
 */
import { randomBytes } from "node:crypto";
import { sortedOrder } from "./sorted-order.ts";
import { lowerBound } from "../storage/lower-bound.ts";

/** Rows between two pauses. */
const PER_SLICE = 512;

/** Of a row: what `PackedDocs.write` is told. */
export interface DocIdentity {
  readonly docId: number;
  readonly offset: number;
  readonly sequence: number;
  readonly id: string;
}

/** In memory, or read when they are asked for. */
export interface DocParts {
  /** Of any row; infinite where there is none. */
  readonly minOffset: number;
  /** Of the hashes; random, so that nobody can choose ids that all have one hash. */
  readonly seed: number;
  /** By docId. */
  readonly offsets: Float64Array;
  /** By docId. */
  readonly sequences: Float64Array;
  /** Of ids. */
  readonly ids: PackedIds;
  readonly lookup: DocLookup;
}

export interface PackedIds {
  /** By docId, where the id's bytes begin; one more says where the last one ends. Ids of no row are empty. */
  readonly starts: Uint32Array;
  readonly bytes: Buffer;
}

/** Of all rows. */
export interface DocLookup {
  /** DocIds, ascending by offset. */
  readonly byOffset: Uint32Array;
  /** DocIds, ascending by the hashes of their ids. */
  readonly byHash: Uint32Array;
  /** The upper and the lower half of the hashes, in that order. */
  readonly high: Uint32Array;
  readonly low: Uint32Array;
}

export class PackedDocs {
  #parts: DocParts;

  constructor(parts: DocParts) {
    this.#parts = parts;
  }

  get parts(): DocParts {
    return this.#parts;
  }

  /** The same ones, which can be read again. */
  moveTo(parts: DocParts): void {
    this.#parts = parts;
  }

  /** `docs` ascend by docId. Pauses about every millisecond. */
  static *write(capacity: number, docs: Iterable<DocIdentity>): Generator<void, PackedDocs> {
    return new PackedDocs(yield* pack(capacity, docs));
  }

  get offsets(): Float64Array {
    return this.parts.offsets;
  }

  get sequences(): Float64Array {
    return this.parts.sequences;
  }

  get minOffset(): number {
    return this.parts.minOffset;
  }

  idAt(docId: number): string {
    const { bytes, starts } = this.parts.ids;
    return bytes.toString("utf8", starts[docId], starts[docId + 1]);
  }

  /** DocIds of all rows, ascending by offset. */
  get byOffset(): Uint32Array {
    return this.parts.lookup.byOffset;
  }

  /** -1: no row has it. */
  docOfOffset(offset: number): number {
    const { offsets } = this.parts;
    const docIds = this.byOffset;
    const at = lowerBound(docIds.length, (i) => offsets[docIds[i]!]! < offset);
    return at < docIds.length && offsets[docIds[at]!] === offset ? docIds[at]! : -1;
  }

  /** -1: no row has it. */
  docOfId(id: string): number {
    const { seed, lookup } = this.parts;
    const { byHash, high, low } = lookup;
    const hash = hashOf(id, seed);
    let at = lowerBound(high.length, (i) => high[i]! < hash.high);
    for (; high[at] === hash.high; at++) {
      if (low[at] === hash.low && this.idAt(byHash[at]!) === id) return byHash[at]!;
    }
    return -1;
  }
}

function* pack(capacity: number, docs: Iterable<DocIdentity>): Generator<void, DocParts> {
  const offsets = new Float64Array(capacity);
  const sequences = new Float64Array(capacity);
  const starts = new Uint32Array(capacity + 1);
  const seed = randomBytes(4).readUInt32LE();
  let minOffset = Infinity;
  let bytes = Buffer.allocUnsafeSlow(32 * capacity);
  let end = 0;
  let count = 0;
  /** DocIds below it have their starts. */
  let placed = 0;
  const docIds = new Uint32Array(capacity);
  const high = new Uint32Array(capacity);
  const low = new Uint32Array(capacity);
  for (const { docId, offset, sequence, id } of docs) {
    offsets[docId] = offset;
    sequences[docId] = sequence;
    minOffset = Math.min(minOffset, offset);
    // A code unit is at most three bytes.
    const room = end + 3 * id.length;
    if (room > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * room);
      bytes.copy(larger, 0, 0, end);
      bytes = larger;
    }
    starts.fill(end, placed, docId + 1);
    placed = docId + 1;
    end += bytes.write(id, end, "utf8");
    const hash = hashOf(id, seed);
    high[count] = hash.high;
    low[count] = hash.low;
    docIds[count++] = docId;
    if (count % PER_SLICE === 0) yield;
  }
  starts.fill(end, placed);
  const ids = { starts, bytes: Buffer.allocUnsafeSlow(end) };
  bytes.copy(ids.bytes, 0, 0, end);
  const byOffset = yield* sortedOrder(count, (a, b) => offsets[docIds[a]!]! - offsets[docIds[b]!]!);
  const byHash = yield* sortedOrder(count, (a, b) => high[a]! - high[b]! || low[a]! - low[b]!);
  yield;
  const offsetOrder = byOffset.map((i) => docIds[i]!);
  yield;
  const hashOrder = byHash.map((i) => docIds[i]!);
  yield;
  const highOrder = byHash.map((i) => high[i]!);
  yield;
  const lookup = {
    byOffset: offsetOrder,
    byHash: hashOrder,
    high: highOrder,
    low: byHash.map((i) => low[i]!),
  };
  return { minOffset, seed, offsets, sequences, ids, lookup };
}

/** Two hashes of 32 bits over the code units. Index files have them: they never change. */
function hashOf(id: string, seed: number): { readonly high: number; readonly low: number } {
  let high = seed;
  let low = ~seed;
  for (let i = 0; i < id.length; i++) {
    const unit = id.charCodeAt(i);
    high = Math.imul(high ^ unit, 0x9e37_79b1);
    high ^= high >>> 15;
    low = Math.imul(low ^ unit, 0x85eb_ca6b);
    low ^= low >>> 13;
  }
  return { high: Math.imul(high, 0xc2b2_ae35) >>> 0, low: Math.imul(low, 0x2c1b_3c6d) >>> 0 };
}

/**
 * Groups rows by value, and packs the groups as `GroupedRows` looks at them. What is gathered lies in typed arrays: an array
 * for each of a hundred thousand values would keep the garbage collector busy.
 */
import type { MetadataScalar } from "@sheaf/protocol";
import { copyInto } from "../copy-into.ts";
import { orderInSteps } from "../native-order.ts";
import { hasBitset } from "./grouped-rows.ts";
import { ScalarCodes } from "./scalar-code.ts";

export interface PackedGroups {
  readonly hashes: Uint32Array;
  readonly ends: Uint32Array;
  readonly starts: Uint32Array;
  readonly counts: Uint16Array;
  readonly rows: Uint16Array;
  readonly bytes: Buffer;
}

/** Values and rows that are packed between two pauses. */
const PACKED_PER_STEP = 16_384;
/** Of a value: its hash, and where its bytes and its rows lie. */
const VALUE_BYTES = 14;
const ROW_BYTES = 2;
/** A large map is copied in one go when it grows, so behind the first there are several. */
const FIRST_MAP_SIZE = 8_192;
const MAP_BITS = 4;
const FIRST = 64;

const float = new Float64Array(1);
const halves = new Int32Array(float.buffer);

export class GroupBuilder {
  readonly #first = new Map<MetadataScalar, number>();
  /** Of what the first has no room for. */
  readonly #others: Map<MetadataScalar, number>[] = [];
  readonly #codes = new ScalarCodes();
  /** By group: rows, and the last of them. */
  #counts = new Uint16Array(FIRST);
  #lastRows = new Uint16Array(FIRST);
  #groupCount = 0;
  /** Pairs as they came: the row, and the group beside it. */
  #rows = new Uint16Array(FIRST);
  #groupOf = new Uint32Array(FIRST);
  #rowCount = 0;

  /** What the groups take once they are packed, about. */
  get bytes(): number {
    return VALUE_BYTES * this.#groupCount + this.#codes.byteLength + ROW_BYTES * this.#rowCount;
  }

  /** `row` is not smaller than any before. */
  add(key: MetadataScalar, row: number): void {
    let groups = this.#first;
    let group = groups.get(key);
    if (group === undefined && groups.size === FIRST_MAP_SIZE) {
      groups = this.#others[mapOf(key)] ??= new Map();
      group = groups.get(key);
    }
    if (group === undefined) {
      group = this.#groupCount++;
      groups.set(key, group);
      this.#codes.add(key);
      if (group === this.#counts.length) {
        this.#counts = copyInto(this.#counts, new Uint16Array(2 * group));
        this.#lastRows = copyInto(this.#lastRows, new Uint16Array(2 * group));
      }
      // An array may have a member twice.
    } else if (this.#lastRows[group] === row) return;
    this.#counts[group]!++;
    this.#lastRows[group] = row;
    if (this.#rowCount === this.#rows.length) {
      this.#rows = copyInto(this.#rows, new Uint16Array(2 * this.#rowCount));
      this.#groupOf = copyInto(this.#groupOf, new Uint32Array(2 * this.#rowCount));
    }
    this.#rows[this.#rowCount] = row;
    this.#groupOf[this.#rowCount++] = group;
  }

  /** Of 32 * `words` rows. Pauses about every millisecond. */
  *pack(words: number): Generator<undefined, PackedGroups> {
    const { hashes, ends } = this.#codes;
    const order = yield* orderInSteps(hashes);
    const packed = {
      hashes: new Uint32Array(order.length),
      ends: new Uint32Array(order.length),
      starts: new Uint32Array(order.length),
      counts: new Uint16Array(order.length),
      bytes: Buffer.allocUnsafeSlow(this.#codes.bytes.length),
    };
    let end = 0;
    for (let i = 0; i < order.length; i++) {
      const group = order[i]!;
      packed.hashes[i] = hashes[group]!;
      packed.counts[i] = this.#counts[group]!;
      const start = group === 0 ? 0 : ends[group - 1]!;
      packed.ends[i] = end += this.#codes.bytes.copy(packed.bytes, end, start, ends[group]);
      if (i % PACKED_PER_STEP === PACKED_PER_STEP - 1) yield;
    }
    return { ...packed, rows: yield* this.#packRows({ ...packed, order }, words) };
  }

  /** Bitsets, then lists; an even number, so that what follows is aligned. Fills `starts`. */
  *#packRows(
    { starts, counts, order }: Pick<PackedGroups, "starts" | "counts"> & { readonly order: Uint32Array },
    words: number,
  ): Generator<undefined, Uint16Array> {
    let bitsets = 0;
    let listed = 0;
    for (let i = 0; i < counts.length; i++) {
      if (hasBitset(counts[i]!, words)) bitsets += 2 * words;
      else listed += counts[i]!;
    }
    const rows = new Uint16Array(Math.ceil((bitsets + listed) / 2) * 2);
    /** By group: where its next row goes, or its bitset begins. */
    const places = new Uint32Array(order.length);
    let nextBitset = 0;
    let nextList = bitsets;
    for (let i = 0; i < order.length; i++) {
      const isSet = hasBitset(counts[i]!, words);
      places[order[i]!] = starts[i] = isSet ? nextBitset : nextList;
      if (isSet) nextBitset += 2 * words;
      else nextList += counts[i]!;
    }
    yield;
    const sets = new Uint32Array(rows.buffer, 0, bitsets / 2);
    for (let i = 0; i < this.#rowCount; i++) {
      const group = this.#groupOf[i]!;
      const row = this.#rows[i]!;
      if (hasBitset(this.#counts[group]!, words)) sets[places[group]! / 2 + (row >>> 5)]! |= 1 << (row & 31);
      else rows[places[group]!++] = row;
      if (i % PACKED_PER_STEP === PACKED_PER_STEP - 1) yield;
    }
    return rows;
  }
}

/** The number of a map: the same for equal keys, and mostly another one for others. */
function mapOf(key: MetadataScalar): number {
  if (typeof key === "boolean") return 0;
  let hash: number;
  if (typeof key === "string") {
    const { length } = key;
    hash =
      length * 31 + key.charCodeAt(0) * 17 + key.charCodeAt(length >>> 1) * 7 + key.charCodeAt(length - 1);
  } else {
    // 0 and -0 are one key.
    float[0] = Number(key) + 0;
    hash = halves[0]! ^ halves[1]!;
  }
  hash = Math.imul(hash, 0x9e37_79b1);
  return hash >>> (32 - MAP_BITS);
}

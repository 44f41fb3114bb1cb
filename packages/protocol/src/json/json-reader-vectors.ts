/**
 * Typed arrays of a body, read from its bytes. Dense vectors: the lists of numbers in the member `embeddings` or
 * `query_embeddings` of the outermost object, and the `query` of a `$knn`. Nothing else can stand in these places, so nobody
 * misses which integers were written as `1.0`. Elsewhere numbers keep their kinds: in a large body, long lists of one kind
 * come as json-reader-numbers.ts reads them.
 */
import type { IntegerArray } from "../integer-array.ts";
import { Float32ListReader } from "./json-reader-float32.ts";
import { readNumberList } from "./json-reader-numbers.ts";
import { LIMITS } from "../limits.ts";

/** From this size of a body on, lists of numbers are worth a second look at their bytes. */
const LARGE_BODY_BYTES = 64 * 1024;
const CLOSE_ARRAY = 0x5d;
/** Shorter lists are read as fast in the general way. */
const MIN_NUMBERS = 8;

const LISTS = ["embeddings", "query_embeddings"].map((name) => Buffer.from(name));
const KNN = Buffer.from("$knn");
const QUERY = Buffer.from("query");

/** A vector is `[numbers]` in a list (depth 2) of the outermost object. */
const LISTED_DEPTH = 3;

/** Of the vector at hand; nothing here is re-entrant. */
const numbers = new Float32Array(LIMITS.dimensions);

/** Used for one body: first to read its typed arrays, then, after `rewind`, to find them again. */
export class VectorReader {
  /** In the order of the text. */
  readonly vectors: (Float32Array | IntegerArray | Float64Array)[] = [];
  /** Of `vectors[i]`, the positions of its brackets. */
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  #floats: Float32ListReader | null = null;
  #inList = false;
  #afterKnn = false;
  #knnDepth = -1;
  #afterQuery = false;
  #next = 0;
  #reading = true;
  readonly #vectors: boolean;

  /** `null` where nothing of the body would be read. */
  static for(bytes: Uint8Array, options: { readonly vectors: boolean }): VectorReader | null {
    return options.vectors || isLarge(bytes) ? new VectorReader(options.vectors) : null;
  }

  private constructor(vectors: boolean) {
    this.#vectors = vectors;
  }

  /** Between the numbers of the vector that was read last. */
  get commas(): number {
    return (this.vectors.at(-1)?.length ?? 1) - 1;
  }

  /** From here on, `array` only finds what was read before. */
  rewind(): void {
    this.#reading = false;
    this.#next = 0;
  }

  /** A colon: the member's name lies between its quotes at [start, end), and its object is that deep. */
  member(bytes: Uint8Array, start: number, end: number, depth: number): void {
    if (!this.#reading) return;
    if (depth === 1) this.#inList = LISTS.some((name) => equals(bytes, start, end, name));
    this.#afterKnn = equals(bytes, start, end, KNN);
    this.#afterQuery = depth === this.#knnDepth && equals(bytes, start, end, QUERY);
  }

  /** An object opens that is that deep. */
  object(depth: number): void {
    if (this.#afterKnn) this.#knnDepth = depth;
    this.#afterKnn = false;
    this.#afterQuery = false;
  }

  /** An array opens at `open` that is that deep. Gives the position of its closing bracket if it is a vector, else -1. */
  array(bytes: Uint8Array, open: number, depth: number): number {
    if (!this.#reading) return this.starts[this.#next] === open ? this.ends[this.#next++]! : -1;
    if (this.#vectors && (this.#afterQuery || (this.#inList && depth === LISTED_DEPTH))) {
      this.#afterQuery = false;
      return this.#readVector(bytes, open);
    }
    return isLarge(bytes) ? this.#readNumbers(bytes, open) : -1;
  }

  #readNumbers(bytes: Uint8Array, open: number): number {
    const list = readNumberList(bytes, open);
    if (list === null) return -1;
    this.vectors.push(list.numbers);
    this.starts.push(open);
    this.ends.push(list.end);
    return list.end;
  }

  #readVector(bytes: Uint8Array, open: number): number {
    const floats = (this.#floats ??= new Float32ListReader(bytes));
    // One number too many is one for the general way, which names the limit.
    const at = floats.read(open, numbers);
    if (at < 0) return -1;
    const { count } = floats;
    if (bytes[at] !== CLOSE_ARRAY || count < MIN_NUMBERS) return -1;
    this.vectors.push(numbers.slice(0, count));
    this.starts.push(open);
    this.ends.push(at);
    return at;
  }
}

function isLarge(bytes: Uint8Array): boolean {
  return bytes.length >= LARGE_BODY_BYTES;
}

function equals(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i += 1) if (bytes[start + i] !== name[i]) return false;
  return true;
}

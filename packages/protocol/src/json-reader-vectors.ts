/**
 * Dense vectors of a body, read from its bytes: the lists of numbers in the member `embeddings` or `query_embeddings` of
 * the outermost object, and the `query` of a `$knn`. Nothing else can stand in these places, so nobody misses which
 * integers were written as `1.0`; elsewhere numbers keep their kinds.
 */
import { Float32ListReader } from "./json-reader-float32.ts";
import { LIMITS } from "./limits.ts";

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

/** Used for one body: first to read its vectors, then, after `rewind`, to find them again. */
export class VectorReader {
  /** In the order of the text. */
  readonly vectors: Float32Array[] = [];
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
    if (!this.#afterQuery && !(this.#inList && depth === LISTED_DEPTH)) return -1;
    this.#afterQuery = false;
    return this.#read(bytes, open);
  }

  #read(bytes: Uint8Array, open: number): number {
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

function equals(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i += 1) if (bytes[start + i] !== name[i]) return false;
  return true;
}

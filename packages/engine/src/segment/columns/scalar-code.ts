/** Keys of values, see `scalarKey`, as bytes: a column compares these. Equal keys have the same bytes. */
import { type MetadataScalar, isLatin1 } from "@sheaf/protocol";
import { copyInto } from "../copy-into.ts";
import { digestOfKey, keyOfDigest } from "./scalar-key.ts";

/** First byte. On disk. */
const FORM = { latin1: 1, utf16: 2, bool: 3, float: 4, int: 5, digest: 6 } as const;
const NUMBER_BYTES = 9;
/** Of a text of 256 units, rounded up. */
const MAX_BYTES = 1_024;
const FIRST_CODES = 64;

export interface ScalarCode {
  readonly hash: number;
  readonly bytes: Uint8Array;
}

/** The last one: a filter asks each block for the same value. */
let last: { readonly key: MetadataScalar; readonly code: ScalarCode } | null = null;
const scratch = Buffer.allocUnsafeSlow(MAX_BYTES);

export function scalarCode(key: MetadataScalar): ScalarCode {
  if (last?.key === key) return last.code;
  const bytes = Uint8Array.from(scratch.subarray(0, writeScalar(key, scratch, 0)));
  last = { key, code: { bytes, hash: hashOf(bytes, 0, bytes.length) } };
  return last.code;
}

/** Codes of many keys, one after the other. */
export class ScalarCodes {
  #count = 0;
  #hashes = new Uint32Array(FIRST_CODES);
  #ends = new Uint32Array(FIRST_CODES);
  #bytes = Buffer.allocUnsafeSlow(MAX_BYTES);
  #end = 0;

  get hashes(): Uint32Array {
    return this.#hashes.subarray(0, this.#count);
  }

  /** Where each ends in `bytes`. */
  get ends(): Uint32Array {
    return this.#ends.subarray(0, this.#count);
  }

  get byteLength(): number {
    return this.#end;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  add(key: MetadataScalar): void {
    if (this.#end + MAX_BYTES > this.#bytes.length) {
      const bytes = Buffer.allocUnsafeSlow(2 * (this.#end + MAX_BYTES));
      this.#bytes.copy(bytes, 0, 0, this.#end);
      this.#bytes = bytes;
    }
    if (this.#count === this.#ends.length) {
      this.#hashes = copyInto(this.#hashes, new Uint32Array(2 * this.#count));
      this.#ends = copyInto(this.#ends, new Uint32Array(2 * this.#count));
    }
    const start = this.#end;
    this.#end = writeScalar(key, this.#bytes, start);
    this.#hashes[this.#count] = hashOf(this.#bytes, start, this.#end);
    this.#ends[this.#count++] = this.#end;
  }
}

/** What the bytes of a key, from `at` on, stand for: a text itself, or the digest of a long one. */
export function kindOfCode(bytes: Uint8Array, at: number): "text" | "digest" | "boolean" | "number" {
  const form = bytes[at];
  if (form === FORM.latin1 || form === FORM.utf16) return "text";
  if (form === FORM.digest) return "digest";
  return form === FORM.bool ? "boolean" : "number";
}

/** `undefined`: these are no bytes of a key. */
export function decodeScalar(bytes: Buffer): MetadataScalar | undefined {
  const form = bytes[0];
  if (form === FORM.latin1) return bytes.toString("latin1", 1);
  if (form === FORM.utf16) return bytes.toString("utf16le", 1);
  if (form === FORM.digest) return keyOfDigest(bytes.toString("hex", 1));
  if (form === FORM.bool) return bytes[1] === 1;
  if (bytes.length !== NUMBER_BYTES) return undefined;
  if (form === FORM.int) return bytes.readBigInt64LE(1);
  if (form !== FORM.float) return undefined;
  const number = bytes.readDoubleLE(1);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(number) : number;
}

/** Returns where the bytes end, of which there are `MAX_BYTES` at most. */
function writeScalar(key: MetadataScalar, into: Buffer, at: number): number {
  if (typeof key === "string") return writeText(key, into, at);
  if (typeof key === "boolean") {
    into[at] = FORM.bool;
    into[at + 1] = key ? 1 : 0;
    return at + 2;
  }
  if (typeof key === "bigint" && BigInt.asIntN(64, key) === key) {
    into[at] = FORM.int;
    return into.writeBigInt64LE(key, at + 1);
  }
  // A bigint beyond int64 was a float. 0 and -0 are one key.
  into[at] = FORM.float;
  return into.writeDoubleLE(Number(key) + 0, at + 1);
}

function writeText(key: string, into: Buffer, at: number): number {
  const digest = digestOfKey(key);
  if (digest !== null) {
    into[at] = FORM.digest;
    return at + 1 + into.write(digest, at + 1, "hex");
  }
  const latin1 = isLatin1(key);
  into[at] = latin1 ? FORM.latin1 : FORM.utf16;
  return at + 1 + into.write(key, at + 1, latin1 ? "latin1" : "utf16le");
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x0100_0193);
  return hash >>> 0;
}

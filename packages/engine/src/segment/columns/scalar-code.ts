/** Keys of values, see `scalarKey`, as bytes: a column compares these. Equal keys have the same bytes. */
import { type MetadataScalar, isLatin1 } from "@sheaf/protocol";
import { digestOfKey, keyOfDigest } from "./scalar-key.ts";

/** First byte. On disk. */
const FORM = { latin1: 1, utf16: 2, bool: 3, float: 4, int: 5, digest: 6 } as const;
const NUMBER_BYTES = 9;
const DIGEST_BYTES = 33;

export interface ScalarCode {
  readonly hash: number;
  readonly bytes: Uint8Array;
}

/** The last one: a filter asks each block for the same value. */
let last: { readonly key: MetadataScalar; readonly code: ScalarCode } | null = null;
/** The longest text takes two bytes a unit. */
const scratch = Buffer.allocUnsafeSlow(1_024);

export function scalarCode(key: MetadataScalar): ScalarCode {
  if (last?.key === key) return last.code;
  const length = writeScalar(key);
  const bytes = Uint8Array.from(scratch.subarray(0, length));
  last = { key, code: { bytes, hash: hashOf(bytes, length) } };
  return last.code;
}

/** Codes of many keys, one after the other. */
export class ScalarCodes {
  readonly hashes: Uint32Array;
  /** Where each ends in `bytes`. */
  readonly ends: Uint32Array;
  #bytes = Buffer.allocUnsafeSlow(256);

  constructor(keys: readonly MetadataScalar[]) {
    this.hashes = new Uint32Array(keys.length);
    this.ends = new Uint32Array(keys.length);
    let end = 0;
    for (const [i, key] of keys.entries()) {
      const length = writeScalar(key);
      if (end + length > this.#bytes.length) {
        const larger = Buffer.allocUnsafeSlow(2 * (end + length));
        this.#bytes.copy(larger, 0, 0, end);
        this.#bytes = larger;
      }
      scratch.copy(this.#bytes, end, 0, length);
      this.hashes[i] = hashOf(scratch, length);
      this.ends[i] = end += length;
    }
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.ends.at(-1) ?? 0);
  }

  bytesOf(i: number): Buffer {
    return this.#bytes.subarray(i === 0 ? 0 : this.ends[i - 1], this.ends[i]);
  }
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

/** To the beginning of `scratch`; returns how many bytes they are. */
function writeScalar(key: MetadataScalar): number {
  if (typeof key === "string") return writeText(key);
  if (typeof key === "boolean") {
    scratch[0] = FORM.bool;
    scratch[1] = key ? 1 : 0;
    return 2;
  }
  if (typeof key === "bigint" && BigInt.asIntN(64, key) === key) {
    scratch[0] = FORM.int;
    return scratch.writeBigInt64LE(key, 1);
  }
  // A bigint beyond int64 was a float. 0 and -0 are one key.
  scratch[0] = FORM.float;
  return scratch.writeDoubleLE(Number(key) + 0, 1);
}

function writeText(key: string): number {
  const digest = digestOfKey(key);
  if (digest !== null) {
    scratch[0] = FORM.digest;
    scratch.write(digest, 1, "hex");
    return DIGEST_BYTES;
  }
  const latin1 = isLatin1(key);
  scratch[0] = latin1 ? FORM.latin1 : FORM.utf16;
  return 1 + scratch.write(key, 1, latin1 ? "latin1" : "utf16le");
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Uint8Array, length: number): number {
  let hash = 0x811c_9dc5;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x0100_0193);
  return hash >>> 0;
}

/** Keys of values, see `scalarKey`, as bytes: a column compares these. Equal keys have the same bytes. */
import { type MetadataScalar, isLatin1 } from "@sheaf/protocol";

/** First byte. On disk. */
const FORM = { latin1: 1, utf16: 2, bool: 3, float: 4, int: 5 } as const;

export interface ScalarCode {
  readonly hash: number;
  readonly bytes: Buffer;
}

/** The last one: a filter asks each block for the same value. */
let last: { readonly key: MetadataScalar; readonly code: ScalarCode } | null = null;

export function scalarCode(key: MetadataScalar): ScalarCode {
  if (last?.key === key) return last.code;
  const bytes = bytesOf(key);
  last = { key, code: { bytes, hash: hashOf(bytes) } };
  return last.code;
}

/** `undefined`: these are no bytes of a key. */
export function decodeScalar(bytes: Buffer): MetadataScalar | undefined {
  const form = bytes[0];
  if (form === FORM.latin1) return bytes.toString("latin1", 1);
  if (form === FORM.utf16) return bytes.toString("utf16le", 1);
  if (form === FORM.bool) return bytes[1] === 1;
  if (bytes.length !== 9) return undefined;
  if (form === FORM.int) return bytes.readBigInt64LE(1);
  if (form !== FORM.float) return undefined;
  const number = bytes.readDoubleLE(1);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(number) : number;
}

function bytesOf(key: MetadataScalar): Buffer {
  if (typeof key === "string") {
    const latin1 = isLatin1(key);
    const bytes = Buffer.allocUnsafe(1 + key.length * (latin1 ? 1 : 2));
    bytes[0] = latin1 ? FORM.latin1 : FORM.utf16;
    bytes.write(key, 1, latin1 ? "latin1" : "utf16le");
    return bytes;
  }
  if (typeof key === "boolean") return Buffer.of(FORM.bool, key ? 1 : 0);
  const bytes = Buffer.allocUnsafe(9);
  if (typeof key === "bigint" && BigInt.asIntN(64, key) === key) {
    bytes[0] = FORM.int;
    bytes.writeBigInt64LE(key, 1);
  } else {
    // A bigint beyond int64 was a float. 0 and -0 are one key.
    bytes[0] = FORM.float;
    bytes.writeDoubleLE(Number(key) + 0, 1);
  }
  return bytes;
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c_9dc5;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x0100_0193);
  return hash >>> 0;
}

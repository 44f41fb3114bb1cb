/** What a record is, in 256 bits, and the sum of many of them. */
import { createHash } from "node:crypto";
import type { WriteRecord } from "@sheaf/protocol";
import { upsertBody } from "../record-batch.ts";

const MODULUS = 2n ** 256n;

/**
 * SHA-256 of the record as JSON: vectors as 32-bit numbers, metadata by key, and integers apart from floats. What has no
 * value counts as absent.
 */
export function recordChecksum(record: WriteRecord): bigint {
  const { metadata } = record;
  const sorted = metadata && new Map([...metadata].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const text = upsertBody([{ number: 0, record: { ...record, metadata: sorted } }]);
  return BigInt(`0x${createHash("sha256").update(text).digest("hex")}`);
}

/** @param sum Hexadecimal, as it gives. */
export function addChecksum(sum: string, checksum: bigint): string {
  return ((BigInt(`0x${sum}`) + checksum) % MODULUS).toString(16);
}

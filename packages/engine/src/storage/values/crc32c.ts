/** CRC-32C of bytes anywhere, in kernel memory. */
import { valueMemory } from "../../kernels/value-memory.ts";

const STEP_BYTES = 1024 * 1024;

/**
 * Checksum of `bytes[start, end)` as an unsigned 32-bit number.
 * @param before Checksum of the bytes that come before these; by default there are none.
 */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length, before = 0): number {
  const memory = valueMemory();
  let register = ~before;
  for (let at = start; at < end; at += memory.capacity) {
    const next = Math.min(at + memory.capacity, end);
    memory.load(bytes.subarray(at, next));
    register = memory.checksum(register, 0, next - at);
  }
  return ~register >>> 0;
}

/** `crc32c` from `start` on, of what takes many milliseconds. */
export function* crc32cInSteps(bytes: Uint8Array, start: number): Generator<void, number> {
  let checksum = 0;
  for (let at = start; at < bytes.length; at += STEP_BYTES) {
    checksum = crc32c(bytes, at, Math.min(at + STEP_BYTES, bytes.length), checksum);
    yield;
  }
  return checksum;
}

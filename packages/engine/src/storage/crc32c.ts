/** CRC-32C of bytes anywhere, in kernel memory. */
import { valueMemory } from "../kernels/value-memory.ts";

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

/** CRC-32C of bytes anywhere, in kernel memory. */
import { valueMemory } from "../kernels/value-memory.ts";

/** Checksum of `bytes[start, end)` as an unsigned 32-bit number. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const memory = valueMemory();
  let register = 0xffffffff;
  for (let at = start; at < end; at += memory.capacity) {
    const next = Math.min(at + memory.capacity, end);
    memory.load(bytes.subarray(at, next));
    register = memory.checksum(register, 0, next - at);
  }
  return ~register >>> 0;
}

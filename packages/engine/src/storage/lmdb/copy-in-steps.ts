/** Copies a value out of the store that takes many milliseconds to copy. */
import { FRAME_BYTES } from "../values/value-writer.ts";

const STEP_BYTES = 1024 * 1024;

/**
 * A copy of what `peek` gives, a piece in each step. What it gave is another value after the next read: it is asked again
 * each time, and the copy begins anew where the frame of the value, its checksum, says that it was written again.
 */
export function* copyInSteps(peek: () => Uint8Array | null): Generator<void, Uint8Array | null> {
  let copy = Buffer.alloc(0);
  for (let at = 0; ;) {
    const value = peek();
    if (value === null) return null;
    if (at === 0 || value.length !== copy.length || !hasFrame(value, copy)) {
      copy = Buffer.allocUnsafeSlow(value.length);
      at = 0;
    }
    copy.set(value.subarray(at, at + STEP_BYTES), at);
    at += STEP_BYTES;
    if (at >= copy.length) return copy;
    yield;
  }
}

function hasFrame(value: Uint8Array, copy: Uint8Array): boolean {
  return Buffer.compare(value.subarray(0, FRAME_BYTES), copy.subarray(0, FRAME_BYTES)) === 0;
}

/** The reads of this thread, to which work in the background gives way. */
import { takeSlice } from "@sheaf/process";

/** Reads that have begun and wait for a turn to go on in. */
let waiting = 0;
let begunAt = -Infinity;

export function beginRead(): void {
  begunAt = performance.now();
}

/** As `takeSlice`, for a read that has to wait. */
export async function takeReadSlice(owner: string): Promise<void> {
  waiting++;
  try {
    await takeSlice(owner);
  } finally {
    waiting--;
  }
}

export function isReadWaiting(): boolean {
  return waiting > 0;
}

/** A read began in the last so many milliseconds. */
export function wasReadBegun(milliseconds: number): boolean {
  return performance.now() - begunAt < milliseconds;
}

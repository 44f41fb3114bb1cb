/** Batches as the rows of a log. */
import type { LogBatch } from "../log/commit-log.ts";
import { byteaArray } from "./bytea-array.ts";

/** Of a row; a larger body is several. */
const ROW_BYTES = 512 * 1024;

/** One array for each column of `log`. */
export function columnsOf(from: number, batches: readonly LogBatch[]): readonly unknown[] {
  const numbers: number[][] = [[], [], [], [], []];
  const [ids, bodies]: [string[], Uint8Array[]] = [[], []];
  let previous = from;
  for (const { id, sequence, parts } of batches) {
    for (const [part, { partition, body }] of parts.entries()) {
      for (let at = 0, chunk = 0; chunk === 0 || at < body.length; at += ROW_BYTES, chunk++) {
        for (const [i, value] of [sequence, part, chunk, partition, previous].entries())
          numbers[i]!.push(value);
        ids.push(id);
        bodies.push(body.subarray(at, at + ROW_BYTES));
      }
    }
    previous = sequence;
  }
  return [...numbers, ids, byteaArray(bodies)];
}

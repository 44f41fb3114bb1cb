/**
 * Vectors in a file, row after row, read as they are wanted: a million of them need not fit into memory. Elements are
 * multiples of 2^-16 as int16: half the space of floats, exact as a 32-bit float, and with few enough different values
 * that their decimal texts can be kept (see `write-body.ts`).
 */
import { closeSync, openSync, readSync, renameSync, writeSync } from "node:fs";

/** Steps of the grid in 1. */
export const GRID = 2 ** 16;
const MOST = 2 ** 15 - 1;
const WRITTEN_ROWS = 1_024;

export class VectorFile {
  readonly #descriptor: number;
  readonly #dimension: number;

  constructor(path: string, dimension: number) {
    this.#descriptor = openSync(path, "r");
    this.#dimension = dimension;
  }

  /** The rows from `from` to before `to`. */
  read(from: number, to: number): Int16Array {
    const values = new Int16Array((to - from) * this.#dimension);
    const bytes = new Uint8Array(values.buffer);
    const start = from * this.#dimension * values.BYTES_PER_ELEMENT;
    for (let at = 0; at < bytes.length;) {
      const got = readSync(this.#descriptor, bytes, at, bytes.length - at, start + at);
      if (got === 0) throw new Error(`row ${to - 1} is beyond the end of the file`);
      at += got;
    }
    return values;
  }

  readFloats(from: number, to: number): Float32Array {
    return toFloats(this.read(from, to));
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

export function toFloats(values: Int16Array): Float32Array {
  const floats = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) floats[i] = values[i]! / GRID;
  return floats;
}

/** Writes that many rows, which `next` gives; the file is there when it is whole. */
export function writeVectorFile(path: string, rows: number, next: () => Float32Array): void {
  const part = `${path}.part`;
  const descriptor = openSync(part, "w");
  for (let from = 0; from < rows; from += WRITTEN_ROWS) {
    const vectors = Array.from({ length: Math.min(WRITTEN_ROWS, rows - from) }, next);
    const dimension = vectors[0]?.length ?? 0;
    const values = new Int16Array(vectors.length * dimension);
    for (const [row, vector] of vectors.entries())
      for (let j = 0; j < dimension; j++) values[row * dimension + j] = onGrid(vector[j]!);
    writeSync(descriptor, new Uint8Array(values.buffer));
  }
  closeSync(descriptor);
  renameSync(part, path);
}

function onGrid(value: number): number {
  return Math.max(-MOST, Math.min(MOST, Math.round(value * GRID)));
}

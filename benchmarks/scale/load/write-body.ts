/**
 * Bodies of writes, made fast enough that the client leaves the cores to the server: texts of numbers, which take
 * longest, are made once for each value, and vectors on a grid have few different ones.
 */
import { recordContent } from "../../search/workload/record-content.ts";
import { GRID, toFloats } from "../data/vector-file.ts";

/** Lists of decimal numbers, or base64 of 32-bit floats. */
export const ENCODINGS = ["lists", "base64"] as const;
export type Encoding = (typeof ENCODINGS)[number];

export interface RowBlock {
  readonly from: number;
  readonly dimension: number;
  /** On the grid, row after row. */
  readonly vectors: Int16Array;
  readonly groups: Uint16Array;
}

/** Body of `/add` and `/upsert`. */
export function writeBody({ from, dimension, vectors, groups }: RowBlock, encoding: Encoding): Buffer {
  const records = Array.from(groups, (group, index) => recordContent(from + index, group));
  const rest = JSON.stringify({
    ids: records.map(({ id }) => id),
    documents: records.map(({ document }) => document),
    metadatas: records.map(({ metadata }) => metadata),
  });
  const embeddings = records.map((_, index) => {
    const vector = vectors.subarray(index * dimension, (index + 1) * dimension);
    return encoding === "lists" ? listOf(vector) : base64Of(vector);
  });
  return Buffer.from(`{"embeddings":[${embeddings.join(",")}],${rest.slice(1)}`);
}

/** By value on the grid, from the lowest. */
const texts: string[] = [];
const LOWEST = -(2 ** 15);

function listOf(vector: Int16Array): string {
  const parts: string[] = [];
  for (const value of vector) parts.push((texts[value - LOWEST] ??= String(value / GRID)));
  return `[${parts.join(",")}]`;
}

function base64Of(vector: Int16Array): string {
  return `"${Buffer.from(toFloats(vector).buffer).toString("base64")}"`;
}

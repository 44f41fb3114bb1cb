/**
 * In which partition of a collection a record is: by its id alone, so that every server knows it of every version of the
 * record. On disk and in logs: it may never change.
 */
import { hash } from "node:crypto";

/** A partition whose records a view has alone. */
export interface ViewedPart {
  readonly partition: number;
  readonly partitions: number;
}

/** A number below `partitions`: the first 32 bits, big-endian, of the SHA-256 of the id in UTF-8, modulo `partitions`. */
export function partitionOf(id: string, partitions: number): number {
  return partitions === 1 ? 0 : Number.parseInt(hash("sha256", id).slice(0, 8), 16) % partitions;
}

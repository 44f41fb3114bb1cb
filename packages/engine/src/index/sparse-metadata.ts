/**
 * Metadata as the index keeps it: of a sparse vector only that there is one. Its terms are in the inverted lists, and
 * whoever wants the vector back reads the store.
 */
import { type Metadata, type SparseVector, isSparseVector } from "@sheaf/protocol";
import type { SparseVectors } from "./segment.ts";

const PLACEHOLDER: SparseVector = { indices: new Uint32Array(0), values: new Float32Array(0) };
const NO_VECTORS: SparseVectors = new Map();

/** The metadata with every sparse vector empty. */
export function withoutSparse(metadata: Metadata | null): Metadata | null {
  if (!hasSparse(metadata)) return metadata;
  return new Map([...metadata].map(([key, value]) => [key, isSparseVector(value) ? PLACEHOLDER : value]));
}

export function sparseVectorsOf(metadata: Metadata | null): SparseVectors {
  if (!hasSparse(metadata)) return NO_VECTORS;
  return new Map([...metadata].flatMap(([key, value]) => (isSparseVector(value) ? [[key, value]] : [])));
}

function hasSparse(metadata: Metadata | null): metadata is Metadata {
  if (metadata === null) return false;
  for (const value of metadata.values()) if (isSparseVector(value)) return true;
  return false;
}

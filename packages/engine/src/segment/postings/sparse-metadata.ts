/** The sparse vectors among metadata. */
import { type Metadata, isSparseVector } from "@sheaf/protocol";
import type { SparseVectors } from "../mutable-segment.ts";

const NO_VECTORS: SparseVectors = new Map();

export function sparseVectorsOf(metadata: Metadata | null): SparseVectors {
  if (!hasSparse(metadata)) return NO_VECTORS;
  return new Map([...metadata].flatMap(([key, value]) => (isSparseVector(value) ? [[key, value]] : [])));
}

function hasSparse(metadata: Metadata | null): metadata is Metadata {
  if (metadata === null) return false;
  for (const value of metadata.values()) if (isSparseVector(value)) return true;
  return false;
}

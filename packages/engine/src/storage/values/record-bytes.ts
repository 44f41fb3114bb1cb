/** Roughly the memory that a record takes, as it is and as JSON; exactness does not matter. */
import { type MetadataPatch, type ResultRecord, isIntegerArray, isSparseVector } from "@sheaf/protocol";

/** A record without its contents: objects, id, punctuation. */
const RECORD_BYTES = 128;
const NUMBER_BYTES = 16;

type Contents = Omit<ResultRecord, "id" | "metadata"> & { readonly metadata?: MetadataPatch | null };

export function recordBytes({ embedding, document, uri, metadata, trace }: Contents): number {
  return (
    RECORD_BYTES +
    (embedding?.byteLength ?? 0) +
    2 * ((document?.length ?? 0) + (uri?.length ?? 0) + (trace?.length ?? 0)) +
    (metadata === undefined || metadata === null ? 0 : metadataBytes(metadata))
  );
}

export function metadataBytes(metadata: MetadataPatch): number {
  let bytes = 0;
  for (const [key, value] of metadata) {
    bytes += 2 * key.length + 16;
    if (typeof value === "string") bytes += 2 * value.length;
    else if (typeof value !== "object" || value === null) continue;
    else if (isSparseVector(value)) bytes += 2 * NUMBER_BYTES * value.indices.length;
    else if (isIntegerArray(value) || value instanceof Float64Array) bytes += NUMBER_BYTES * value.length;
    else for (const item of value) bytes += 8 + (typeof item === "string" ? 2 * item.length : 0);
  }
  return bytes;
}

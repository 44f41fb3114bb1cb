/** A sparse vector off the wire, the same as a metadata value and as a `$knn` query. */
import { invalid, unprocessable } from "./errors.ts";
import {
  float32Of,
  itemPath,
  itemsOf,
  memberPath,
  membersOf,
  optional,
  refuseUnknown,
  required,
  stringOf,
  utf8Length,
} from "./json/json-shape.ts";
import { LIMITS } from "./limits.ts";
import type { SparseVector } from "./metadata.ts";

/** What `#type` says, where a client sends it; replies always carry it. */
export const SPARSE_VECTOR_TYPE = "sparse_vector";

const MEMBERS = ["#type", "indices", "values", "tokens"];
const UINT32_MAX = 2 ** 32 - 1;

/**
 * `{"indices", "values", "tokens"?, "#type"?}`: strictly ascending u32 indices, one finite f32 value each.
 *
 * @throws SheafError 422 for wrong types, 400 for order, lengths, bounds and unknown members.
 */
export function parseSparseVector(value: unknown, path: string): SparseVector {
  const members = membersOf(value, path);
  refuseUnknown(members, MEMBERS, path);
  const type = optional(members, "#type");
  if (type !== undefined && type !== SPARSE_VECTOR_TYPE) {
    throw unprocessable(memberPath(path, "#type"), `must be \`${SPARSE_VECTOR_TYPE}\``);
  }
  const indices = itemsOf(required(members, "indices", path), memberPath(path, "indices"));
  const values = itemsOf(required(members, "values", path), memberPath(path, "values"));
  const tokens = parseTokens(optional(members, "tokens"), memberPath(path, "tokens"));
  if (indices.length !== values.length || (tokens !== undefined && tokens.length !== indices.length)) {
    throw invalid(path, "Sparse vector indices, values, and tokens (when present) must have the same length");
  }
  if (indices.length > LIMITS.sparseNonZeros) {
    throw invalid(path, `holds ${indices.length} entries, the limit is ${LIMITS.sparseNonZeros}`);
  }
  const vector = {
    indices: parseIndices(indices, path),
    values: Float32Array.from(values, (item, index) =>
      float32Of(item, itemPath(memberPath(path, "values"), index)),
    ),
  };
  return tokens === undefined ? vector : { ...vector, tokens };
}

function parseTokens(value: unknown, path: string): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const tokens = itemsOf(value, path).map((token, index) => stringOf(token, itemPath(path, index)));
  if (tokens.reduce((bytes, token) => bytes + utf8Length(token), 0) > LIMITS.metadataValueBytes) {
    throw invalid(path, `is over ${LIMITS.metadataValueBytes} bytes`);
  }
  return tokens;
}

function parseIndices(items: readonly unknown[], path: string): Uint32Array {
  const indices = new Uint32Array(items.length);
  let previous = -1;
  for (const [position, index] of items.entries()) {
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index > UINT32_MAX) {
      throw unprocessable(
        itemPath(memberPath(path, "indices"), position),
        "must be an unsigned 32-bit integer",
      );
    }
    if (index <= previous) {
      throw invalid(
        itemPath(memberPath(path, "indices"), position),
        "Sparse vector indices must be sorted in strictly ascending order (no duplicates)",
      );
    }
    indices[position] = index;
    previous = index;
  }
  return indices;
}

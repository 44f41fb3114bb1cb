/** Dense vectors off the wire: arrays of numbers, or in writes base64 of little-endian f32. */
import { invalid, unprocessable } from "./errors.ts";
import { isNumber, itemPath, itemsOf, toNumber } from "./json/json-shape.ts";
import { LIMITS } from "./limits.ts";
import { decodeBase64 } from "./base64.ts";

const FLOAT32_BYTES = 4;

/**
 * An array of numbers, or a vector as `readJsonWithVectors` gives it, which is not copied.
 *
 * @throws SheafError 422 for anything else, 400 for no or too many dimensions and values that are not finite as f32.
 */
export function parseDenseVector(value: unknown, path: string): Float32Array {
  if (value instanceof Float32Array) return value;
  const items = itemsOf(value, path);
  checkDimensions(items.length, path);
  const vector = new Float32Array(items.length);
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    // Nearly all are plain numbers; the general way takes ten times as long.
    if (typeof item === "number") vector[index] = item;
    else if (isNumber(item)) vector[index] = toNumber(item);
    else throw unprocessable(itemPath(path, index), "must be a number");
    if (!Number.isFinite(vector[index])) {
      throw invalid(itemPath(path, index), "Embeddings must not contain NaN or Infinity values");
    }
  }
  return vector;
}

/** A vector of a write: as `parseDenseVector`, or a base64 string of the bytes of its f32 values. */
export function parseEmbedding(value: unknown, path: string): Float32Array {
  if (typeof value !== "string") return parseDenseVector(value, path);
  const bytes = decodeBase64(value);
  if (bytes === null) throw invalid(path, "Invalid base64 string");
  if (bytes.length % FLOAT32_BYTES !== 0) {
    throw invalid(
      path,
      `Invalid byte length: ${bytes.length} bytes cannot be converted to f32 values (must be divisible by 4)`,
    );
  }
  const vector = new Float32Array(bytes.length / FLOAT32_BYTES);
  checkDimensions(vector.length, path);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let index = 0; index < vector.length; index += 1) {
    const item = view.getFloat32(index * FLOAT32_BYTES, true);
    if (!Number.isFinite(item)) {
      throw invalid(path, `Non-finite float value at embedding index ${index}: ${item}`);
    }
    vector[index] = item;
  }
  return vector;
}

function checkDimensions(dimensions: number, path: string): void {
  if (dimensions === 0) throw invalid(path, "Each embedding must have at least 1 dimension");
  if (dimensions > LIMITS.dimensions) {
    throw invalid(path, `has ${dimensions} dimensions, the limit is ${LIMITS.dimensions}`);
  }
}

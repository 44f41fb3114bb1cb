/** Large writes in portions that the server takes. Pure: the limits are passed in. */

export interface BatchLimits {
  readonly records: number;
  readonly bytes: number;
}

/** In order; a record over the limit of bytes is a batch of its own. */
export function* batchesOf<T>(
  items: readonly T[],
  limits: BatchLimits,
  bytesOf: (item: T) => number,
): Generator<readonly T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    if (batch.length > 0 && (batch.length >= limits.records || bytes + size > limits.bytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

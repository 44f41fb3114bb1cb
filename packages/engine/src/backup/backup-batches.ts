/** Which collections are copied into a backup together. */
import type { CataloguedCollection } from "./backup-steps.ts";

/** Forks and purges wait while these are copied; each of them is small. */
const MOST_IN_A_BATCH = 64;

export type KnownCollection = CataloguedCollection & { readonly isShared: boolean };
export type Batch = readonly KnownCollection[];

/** Collections that share environments by many, for each takes less than a message about it; others one by one. */
export function* batchesOf(
  known: readonly CataloguedCollection[],
  shared: ReadonlySet<string>,
): Generator<Batch> {
  let batch: KnownCollection[] = [];
  for (const collection of known) {
    const isShared = shared.has(collection.id);
    if (batch.length === MOST_IN_A_BATCH || (batch.length > 0 && !(isShared && batch[0]!.isShared))) {
      yield batch;
      batch = [];
    }
    batch.push({ ...collection, isShared });
  }
  if (batch.length > 0) yield batch;
}

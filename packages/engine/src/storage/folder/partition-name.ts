/**
 * What the view and the index of one partition of a collection are called where others are called by the id of their collection:
 * in the data folder, among what is open, and where indexes are published.
 */
import { LIMITS } from "@sheaf/protocol";

const MARK = ".p";

/** `<uuid>.p<number>`. */
export function partitionName(collection: string, partition: number): string {
  return `${collection}${MARK}${partition}`;
}

/** All that something of the collection may be called, whether it has partitions or not. */
export function namesOf(collection: string): readonly string[] {
  const partitions = Array.from({ length: LIMITS.partitions }, (_, n) => partitionName(collection, n));
  return [collection, ...partitions];
}

/** Id of the collection that something is of. */
export function collectionOf(name: string): string {
  return name.split(MARK)[0]!;
}

/** `null`: it is of the collection as a whole. */
export function partitionIn(name: string): number | null {
  const [, partition] = name.split(MARK);
  return partition === undefined ? null : Number(partition);
}

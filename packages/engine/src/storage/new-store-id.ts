/**
 * Ids of new collections. The first byte of an id is also the place of a small collection's records: the environment that it
 * shares with others. New ids lead to a few of these, so that of those who write at once more share a commit.
 */
import { randomUUID } from "node:crypto";

/** Part of the format of data folders: another number is another version. */
export const SHARED_ENVIRONMENTS = 32;
/** For new collections. A power of two. */
const ENVIRONMENTS_OF_NEW = 4;

/** Tries to find another environment: with one of four to be avoided, all fail once in 10^13. */
const ATTEMPTS = 22;

/** A UUID, random but for two bits. `avoid`: whether no store should have this one. */
export function newStoreId(avoid: (id: string) => boolean = () => false): string {
  let id = drawId();
  for (let attempt = 1; attempt < ATTEMPTS && avoid(id); attempt++) id = drawId();
  return id;
}

function drawId(): string {
  const id = randomUUID();
  const first = Number.parseInt(id.slice(0, 2), 16);
  const number = first % SHARED_ENVIRONMENTS;
  return (first - number + (number % ENVIRONMENTS_OF_NEW)).toString(16).padStart(2, "0") + id.slice(2);
}

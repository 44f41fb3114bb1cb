/**
 * The values of `$in` and `$nin` as sets of keys. One of 100,000 values takes some milliseconds to make, and a search may
 * have hundreds of them, so the long ones of a filter are made before it is planned, one at a time.
 */
import type { MetadataScalar, Where } from "@sheaf/protocol";
import { scalarKey } from "../../segment/columns/scalar-key.ts";
import type { Pace } from "../pace.ts";

type ListClause = Extract<Where, { type: "in" | "id" }>;

/** Of the long lists of a filter; `keysOf` makes the others when they are asked for. */
export type ListKeys = ReadonlyMap<ListClause, ReadonlySet<MetadataScalar>>;

export const NO_LIST_KEYS: ListKeys = new Map();

/** Shorter ones take less than a tenth of a millisecond. */
const LONG_LIST = 1_000;

/** Clauses whose lists are long. */
export function longLists(where: Where): readonly ListClause[] {
  if (where.type === "and" || where.type === "or") return where.children.flatMap(longLists);
  if (where.type === "in") return where.values.length > LONG_LIST ? [where] : [];
  return where.type === "id" && where.ids.length > LONG_LIST ? [where] : [];
}

export async function makeListKeys(clauses: readonly ListClause[], pace: Pace): Promise<ListKeys> {
  const keys = new Map<ListClause, ReadonlySet<MetadataScalar>>();
  for (const clause of clauses) {
    keys.set(clause, clause.type === "id" ? keysOf(clause) : await pacedKeys(clause.values, pace));
    await pace.breathe();
  }
  return keys;
}

/** Those of long texts take some microseconds each. */
async function pacedKeys(values: Iterable<MetadataScalar>, pace: Pace): Promise<ReadonlySet<MetadataScalar>> {
  const keys = new Set<MetadataScalar>();
  for (const value of values) {
    keys.add(scalarKey(value));
    if (typeof value === "string" && pace.spend(value.length)) await pace.breathe();
  }
  return keys;
}

export function keysOf(clause: ListClause): ReadonlySet<MetadataScalar> {
  if (clause.type === "id") return new Set(clause.ids);
  const keys = new Set<MetadataScalar>();
  for (const value of clause.values) keys.add(scalarKey(value));
  return keys;
}

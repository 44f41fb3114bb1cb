/** What a search that is not refused would most likely not do as it was meant. */
import type { JsonObject } from "../catalog/ast.ts";
import { CLIENT_PREFIX } from "../catalog/index-plan.ts";
import { objectAt } from "../catalog/plain-json.ts";
import { isIntegerArray } from "../integer-array.ts";
import { itemPath, memberPath, shownKey } from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { type MetadataScalar, metadataKind } from "../metadata.ts";
import type { Rank, Search, Where } from "../search/ast.ts";
import { leafPaths } from "../search/leaf-paths.ts";
import type { Findings, WarningCode } from "./findings.ts";
import { neverMatches } from "./never-matches.ts";

const NUMBERS = ["int", "float"];

/** Says one thing of one place. */
type Warn = (path: string, code: WarningCode, problem: string) => void;

/** @param path Of the payload. */
export function warnOfSearch(
  search: Search,
  { schema, path }: { readonly schema: JsonObject; readonly path: string },
  findings: Findings,
): void {
  const warn: Warn = (at, code, problem) => findings.add({ path: at, code, message: `${at}: ${problem}` });
  const { where, rank, groupBy, orderBy } = search;
  const wherePath = memberPath(path, "where");
  const keys = new KnownKeys(schema);
  if (where !== null) {
    if (neverMatches(where)) warn(wherePath, "never_matches", "no record can match all of it");
    for (const { clause, path: at } of clausesOf(where, wherePath))
      warnOfClause(clause, keys, { warn, path: at });
  }
  if (rank !== null) warnOfRank(rank, search, { warn, keys, path });
  const ofKeys = (names: readonly string[], at: string): void => {
    for (const name of names)
      if (name !== "#score" && keys.isUnknown(name)) warn(at, "unknown_key", unknownKey(name));
  };
  ofKeys(groupBy?.keys ?? [], memberPath(path, "group_by"));
  ofKeys(groupBy?.aggregate.keys ?? [], memberPath(path, "group_by"));
  const ordered = orderBy?.keys.map(({ key }) => key) ?? [];
  ofKeys(ordered, memberPath(path, "order_by"));
  ofKeys(search.select.fields, memberPath(path, "select"));
  const ofNumbers = (names: readonly string[], at: string): void => {
    for (const name of names) if (keys.hasBothNumbers(name)) warn(at, "mixed_numbers", mixedNumbers(name));
  };
  ofNumbers(groupBy?.aggregate.keys ?? [], memberPath(path, "group_by"));
  ofNumbers(ordered, memberPath(path, "order_by"));
}

function warnOfRank(
  rank: Rank,
  search: Search,
  { warn, keys, path }: { readonly warn: Warn; readonly keys: KnownKeys; readonly path: string },
): void {
  const rankPath = memberPath(path, "rank");
  const leaves = [...leafPaths(rank, rankPath)];
  if (leaves.length === 0) {
    warn(rankPath, "constant_rank", "has no `$knn`, `$key` or `$age`, so that it finds nothing");
  }
  for (const { leaf, path: at } of leaves) {
    if (leaf.type === "knn") continue;
    const problem = keys.problem(leaf.key, leaf.type === "key" ? [...NUMBERS, "bool"] : NUMBERS);
    if (problem !== null) warn(at, ...problem);
  }
  const knns = leaves.flatMap(({ leaf }) => (leaf.type === "knn" ? [leaf] : []));
  const end = search.limit === null ? 0 : search.offset + search.limit;
  // Beside a `$key` that has values, a `$knn` with a default keeps none out.
  if (knns.length < leaves.length) return;
  for (const { path: at, limit } of knns) {
    const limitPath = memberPath(at, "limit");
    if (search.mmr !== undefined && limit <= search.mmr.limit) {
      warn(limitPath, "leaf_limit", `finds ${limit} records, of which \`mmr\` keeps all`);
    } else if (limit < end) {
      const code = knns.length > 1 ? "fusion_limit" : "leaf_limit";
      warn(limitPath, code, `finds at most ${limit} records, and the page ends at record ${end}`);
    }
  }
}

function warnOfClause(
  clause: Where,
  keys: KnownKeys,
  { warn, path }: { readonly warn: Warn; readonly path: string },
): void {
  if (clause.type !== "compare" && clause.type !== "in" && clause.type !== "contains") return;
  const isNegative = clause.type === "compare" ? clause.operator === "$ne" : clause.negated;
  if (isNegative) return;
  const [value] = clause.type === "in" ? firstOf(clause.values) : [clause.value];
  if (value === undefined) return;
  const kind = metadataKind(value);
  const problem = keys.problem(clause.key, NUMBERS.includes(kind) ? NUMBERS : [kind]);
  if (problem !== null) warn(memberPath(path, clause.key), ...problem);
}

function firstOf(values: Extract<Where, { type: "in" }>["values"]): readonly MetadataScalar[] {
  const [first] = values;
  if (first === undefined) return [];
  return [isIntegerArray(values) ? BigInt(first) : first];
}

function* clausesOf(
  where: Where,
  path: string,
): Generator<{ readonly clause: Where; readonly path: string }> {
  if (where.type !== "and" && where.type !== "or") yield { clause: where, path };
  else {
    const list = memberPath(path, `$${where.type}`);
    for (const [i, child] of where.children.entries()) yield* clausesOf(child, itemPath(list, i));
  }
}

/** A schema lists the keys of all metadata that was ever written, with the types of their values. */
class KnownKeys {
  readonly #keys: JsonObject;
  readonly #isFull: boolean;

  constructor(schema: JsonObject) {
    this.#keys = objectAt(schema, "keys") ?? {};
    this.#isFull = Object.keys(this.#keys).length >= LIMITS.schemaKeys;
  }

  isUnknown(key: string): boolean {
    return !this.#isFull && !key.startsWith(CLIENT_PREFIX) && !Object.hasOwn(this.#keys, key);
  }

  /** Integers and floats, which are ordered one kind after the other. */
  hasBothNumbers(key: string): boolean {
    const entry = objectAt(this.#keys, key);
    return entry !== null && NUMBERS.every((type) => Object.hasOwn(entry, type));
  }

  /** `null`: there may be values of these types. */
  problem(key: string, types: readonly string[]): readonly [WarningCode, string] | null {
    if (key.startsWith(CLIENT_PREFIX)) return null;
    if (this.isUnknown(key)) return ["unknown_key", unknownKey(key)];
    const entry = objectAt(this.#keys, key);
    if (entry === null || types.some((type) => Object.hasOwn(entry, type))) return null;
    return [
      "never_matches",
      `no record has a value of this type (${types.join(", ")}) under '${shownKey(key)}'`,
    ];
  }
}

function mixedNumbers(key: string): string {
  return `'${shownKey(key)}' has integers and floats, and all integers come before all floats; rank by {"$key": ...} to order by value`;
}

function unknownKey(key: string): string {
  return `no record has metadata under '${shownKey(key)}'`;
}

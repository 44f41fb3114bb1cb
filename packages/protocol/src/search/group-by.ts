/**
 * `group_by`: which records form a group and which of them are kept. Absent, `null` and `{}` mean none. So does
 * `{"keys": [], "aggregate": null}`, which the terminal browser of the existing server sends with every search.
 */
import { invalid, unprocessable } from "../errors.ts";
import {
  itemPath,
  itemsOf,
  listOf,
  memberPath,
  membersOf,
  optional,
  positiveOf,
  refuseUnknown,
  required,
  stringOf,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { GroupBy } from "./ast.ts";

const MEMBERS = ["keys", "aggregate"];
const AGGREGATES = ["$min_k", "$max_k"];
const AGGREGATE_MEMBERS = ["keys", "k"];

/** Which keys a list takes, and how it says no. */
interface KeyRule {
  readonly limit: number;
  readonly accepts: (key: string) => boolean;
  readonly problem: string;
}

const GROUP_KEYS: KeyRule = {
  limit: LIMITS.groupKeys,
  accepts: isField,
  problem: "group_by keys must be metadata fields (cannot use #score, #document, #embedding, or #metadata)",
};
const AGGREGATE_KEYS: KeyRule = {
  limit: LIMITS.aggregateKeys,
  accepts: (key) => key === "#score" || isField(key),
  problem:
    "aggregate keys must be metadata fields or #score (cannot use #document, #embedding, or #metadata)",
};

/**
 * @throws SheafError 422 for wrong types, missing members and an unknown aggregate, 400 for bounds, unknown members
 * and one member without the other.
 */
export function parseGroupBy(value: unknown, path: string): GroupBy | null {
  const members = membersOf(value, path);
  refuseUnknown(members, MEMBERS, path);
  const keys = optional(members, "keys");
  const aggregate = optional(members, "aggregate");
  if (aggregate === undefined && (keys === undefined || isEmptyList(keys))) return null;
  if (keys === undefined || aggregate === undefined) {
    throw invalid(path, "group_by keys and aggregate must both be specified or both be omitted");
  }
  return Object.freeze({
    keys: parseKeys(keys, memberPath(path, "keys"), GROUP_KEYS),
    aggregate: parseAggregate(aggregate, memberPath(path, "aggregate")),
  });
}

function parseAggregate(value: unknown, path: string): GroupBy["aggregate"] {
  const entries = Object.entries(membersOf(value, path));
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw invalid(path, `must hold exactly one of ${listOf(AGGREGATES)}`);
  }
  const [operator, operand] = entry;
  const at = memberPath(path, operator);
  if (operator !== "$min_k" && operator !== "$max_k") {
    throw unprocessable(at, `is unknown, expected ${listOf(AGGREGATES)}`);
  }
  const members = membersOf(operand, at);
  refuseUnknown(members, AGGREGATE_MEMBERS, at);
  const keys = parseKeys(required(members, "keys", at), memberPath(at, "keys"), AGGREGATE_KEYS);
  const k = positiveOf(required(members, "k", at), memberPath(at, "k"));
  if (k > LIMITS.knnLimit) throw invalid(memberPath(at, "k"), `must be at most ${LIMITS.knnLimit}`);
  return Object.freeze({ operator, keys, k });
}

/** Each key once: again it says nothing. */
function parseKeys(value: unknown, path: string, rule: KeyRule): readonly string[] {
  const keys = itemsOf(value, path).map((key, index) => stringOf(key, itemPath(path, index)));
  if (keys.length === 0) throw invalid(path, "must hold at least 1 key");
  if (keys.length > rule.limit) throw invalid(path, `must hold at most ${rule.limit} keys`);
  const refused = keys.findIndex((key) => !rule.accepts(key));
  if (refused !== -1) throw invalid(itemPath(path, refused), rule.problem);
  return Object.freeze([...new Set(keys)]);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isField(key: string): boolean {
  return key !== "" && !key.startsWith("#");
}

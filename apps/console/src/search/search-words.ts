/** Words of searches and filters, for the place of each. */
import type { Grammar } from "../parts/complete-json.ts";

const MEMBERS = ["where", "rank", "mmr", "group_by", "order_by", "limit", "select", "highlight", "explain"];
const COMPARISONS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$not_contains"];
const OF_DOCUMENT = ["$contains", "$not_contains", "$regex", "$not_regex"];
const OF_ID = ["$eq", "$ne", "$in", "$nin"];
const RANKS = [
  ...["$knn", "$val", "$sum", "$mul", "$sub", "$div", "$max", "$min"],
  ...["$abs", "$exp", "$log", "$key", "$age"],
];
/** Members of what has some of its own, by its name. */
const INSIDE: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    $knn: ["query", "key", "limit", "default", "return_rank", "exact"],
    $key: ["key", "default"],
    $age: ["key", "half_life", "now", "default"],
    $sub: ["left", "right"],
    $div: ["left", "right"],
    mmr: ["limit", "lambda"],
    group_by: ["keys", "aggregate"],
    aggregate: ["$min_k", "$max_k"],
    $min_k: ["keys", "k"],
    $max_k: ["keys", "k"],
    limit: ["limit", "offset"],
    select: ["keys"],
    highlight: ["snippet"],
  }),
);
const SELECTED = ["#document", "#embedding", "#metadata", "#score"];

export interface Words {
  /** Of the metadata. */
  readonly keys: readonly string[];
  /** Vector indexes. */
  readonly indexes: readonly string[];
}

export function filterGrammar({ keys }: Pick<Words, "keys">): Grammar {
  return ({ path, isName }) => {
    const last = path.at(-1);
    if (!isName) return [];
    if (last === undefined || last === "$and" || last === "$or")
      return [...keys, "$and", "$or", "#id", "#document"];
    if (last === "#document") return OF_DOCUMENT;
    if (last === "#id") return OF_ID;
    return last.startsWith("$") ? [] : COMPARISONS;
  };
}

export function searchGrammar({ keys, indexes }: Words): Grammar {
  const filter = filterGrammar({ keys });
  return ({ path, isName }) => {
    const [first, ...rest] = path;
    const last = path.at(-1);
    if (first === undefined) return isName ? MEMBERS : [];
    if (first === "where") return filter({ path: rest, isName });
    if (isName && first === "order_by") return keys;
    if (isName) return INSIDE.get(last ?? "") ?? (first === "rank" ? RANKS : []);
    if (last === "key") return path.at(-2) === "$knn" ? indexes : keys;
    if (last === "keys") return first === "select" ? [...SELECTED, ...keys] : [...keys, "#score"];
    return [];
  };
}

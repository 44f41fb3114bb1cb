/** Nearest-neighbour queries as leaves of rank expressions. `knn` fits the page of the search, `Knn` is Chroma's. */
import { type MembersOf, isPlainObject, requireKnown } from "../require-known.ts";
import { type KeyInput, keyName } from "./key.ts";
import { type KnnJson, RankExpression, type SparseVectorJson } from "./rank.ts";

export interface KnnParams {
  /** A text is embedded by the server with the model of `key`. */
  readonly query: string | Iterable<number> | SparseVectorJson;
  /** `#embedding` if omitted, else the metadata key of a sparse index. */
  readonly key?: KeyInput;
  /** How many records it finds. If omitted: as many as the page of the search needs, and at least the default. */
  readonly limit?: number;
  /** Score of records that this query does not find, so that a sum includes them. */
  readonly default?: number | null;
  /** The position (0 for the nearest) instead of the distance. */
  readonly returnRank?: boolean;
  /** Compares with every record, without an index. */
  readonly exact?: boolean;
}

export const KNN: MembersOf<KnnParams> = {
  query: true,
  key: true,
  limit: true,
  default: true,
  returnRank: true,
  exact: true,
};

/** The server's own default. */
const SERVER_LIMIT = 16;
/** That of Chroma's client for JavaScript. */
const CHROMA_LIMIT = 128;

/**
 * Nearest neighbours of a query; the score is the distance, lower is closer. Without `limit` it finds as many records as
 * the search asks for with its own `limit` and `offset`, and at least 16.
 *
 * @example
 * await notes.search({ rank: knn({ query: "boats in port" }), limit: 50 });
 */
export function knn(params: KnnParams): RankExpression {
  return knnLeaf(params, { path: "params", limit: SERVER_LIMIT });
}

/** The same with Chroma's default: a `limit` of 128, which its JSON always names. */
export function Knn(params: KnnParams): RankExpression {
  return knnLeaf(params, { path: "params", limit: CHROMA_LIMIT });
}

export interface KnnDefaults {
  /** Where the parameters stand, for messages. */
  readonly path: string;
  /** What it finds at least where neither the query nor the page says more. */
  readonly limit: number;
  /** Records that are not found score as the last one that is. */
  readonly scoreMissing?: boolean;
}

export function knnLeaf(
  params: KnnParams,
  { path, limit: least, scoreMissing }: KnnDefaults,
): RankExpression {
  const { query, key, limit: own, returnRank, exact, default: given } = requireKnown(params, KNN, path);
  if (own !== undefined && !(Number.isInteger(own) && own > 0)) {
    throw new TypeError(`${path}.limit: must be a positive integer`);
  }
  if (given !== undefined && given !== null && !Number.isFinite(given)) {
    throw new TypeError(`${path}.default: must be a finite number`);
  }
  const [vector, name] = [queryJson(query, `${path}.query`), keyName(key ?? "#embedding", `${path}.key`)];
  return RankExpression.leaf((pageEnd) => {
    const limit = own ?? Math.max(least, pageEnd);
    const missing = given ?? (scoreMissing === true ? limit : undefined);
    return {
      $knn: {
        query: vector,
        key: name,
        limit,
        ...(missing === undefined ? {} : { default: missing }),
        ...(returnRank === true ? { return_rank: true } : {}),
        ...(exact === true ? { exact: true } : {}),
      },
    };
  });
}

function queryJson(query: KnnParams["query"], path: string): KnnJson["query"] {
  if (typeof query === "string") return query;
  if (isPlainObject(query) && "indices" in query && "values" in query) {
    return { indices: [...query.indices], values: [...query.values] };
  }
  if (typeof query !== "object" || query === null || !(Symbol.iterator in query))
    throw new TypeError(`${path}: must be a text, an array of numbers or a sparse vector`);
  const vector = [...query];
  if (!vector.every(Number.isFinite)) throw new TypeError(`${path}: must hold finite numbers`);
  return vector;
}

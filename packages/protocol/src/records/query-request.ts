/** The body of `POST .../query`: nearest neighbours of dense vectors. */
import { parseDenseVector } from "../dense-vector-parser.ts";
import { invalid } from "../errors.ts";
import { itemPath, itemsOf, membersOf, refuseMistaken, required } from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { QueryRequest } from "./ast.ts";
import { parseInclude, parseOptionalCount, parseSelector } from "./selector.ts";

const DEFAULT_INCLUDE = ["documents", "metadatas", "distances"];
const DEFAULT_RESULTS = 10;
const MISTAKEN = {
  query_texts:
    'send vectors as `query_embeddings`, or search for a text: POST .../search with {"rank": {"$knn": {"query": "..."}}}',
};

/**
 * Whether the vectors have the collection's dimension only the engine can tell, and how many results there can be: a
 * larger `n_results` than there are records is usual, so its bound holds for what is left of it.
 *
 * @throws SheafError 422 for wrong JSON types and missing `query_embeddings`, 400 for an invalid filter and bounds.
 */
export function parseQueryRequest(body: unknown): QueryRequest {
  const members = membersOf(body, "");
  refuseMistaken(members, MISTAKEN);
  const vectors = itemsOf(required(members, "query_embeddings", ""), "query_embeddings");
  if (vectors.length > LIMITS.queriesPerCall) {
    throw invalid("query_embeddings", `must hold at most ${LIMITS.queriesPerCall} vectors`);
  }
  const limit = parseOptionalCount(members, "n_results") ?? DEFAULT_RESULTS;
  const { ids, where } = parseSelector(members);
  const embeddings = vectors.map((vector, index) =>
    // As `readJsonWithVectors` gives it: the path is for those that it did not read.
    vector instanceof Float32Array ? vector : parseDenseVector(vector, itemPath("query_embeddings", index)),
  );
  return Object.freeze({
    ids,
    where,
    embeddings,
    limit,
    include: parseInclude(members, DEFAULT_INCLUDE),
  });
}

/** How the text of a `$knn` is embedded. */
import {
  EMBEDDING_KEY,
  type EmbeddingPlan,
  type IndexPlan,
  type Knn,
  describeMissingFunction,
  invalid,
} from "@sheaf/protocol";
import type { EmbeddingFunctions } from "./embedding-functions.ts";

export function kindOfKey(key: string): "dense" | "sparse" {
  return key === EMBEDDING_KEY ? "dense" : "sparse";
}

/** @throws SheafError 400 where the server has no embedding function for the key. */
export function queryPlan(functions: EmbeddingFunctions, knn: Knn, index: IndexPlan): EmbeddingPlan {
  const kind = kindOfKey(knn.key);
  const embeddingFunction =
    kind === "dense"
      ? index.embeddingFunction
      : (index.sparse.find(({ key }) => key === knn.key)?.embeddingFunction ?? null);
  const plan = functions.plan(embeddingFunction, kind);
  if (plan === null) {
    throw invalid(
      `${knn.path}.query`,
      `a text cannot be embedded for "${knn.key}": ${describeMissingFunction(embeddingFunction, kind)}; send a vector`,
    );
  }
  return plan;
}

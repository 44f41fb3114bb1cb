/**
 * `embedding_function` of a configuration or an index. Clients store in it how they embed and rebuild themselves from
 * it, so it is checked for its outer shape only and returned verbatim, but for a default that is written into it
 * (`withStatistics`); `embeddingPlan` reads what the server knows.
 */
import type { ModelKind } from "../embed/models.ts";
import type { JsonObject } from "./ast.ts";
import type { BodyReader } from "./body-reader.ts";
import { checkEmbeddingFunction, withStatistics } from "./embedding-plan.ts";
import { toPlainJson } from "./plain-json.ts";

const TYPES = ["legacy", "known", "unknown"] as const;

/**
 * @param kind Of the index that it fills.
 * @returns `null` for absent or `null`.
 * @throws SheafError 422 for another shape than `{type, name?, config?}`; 400 where a function that the server knows
 * is configured so that nothing could be embedded with it.
 */
export function parseEmbeddingFunction(parent: BodyReader, kind: ModelKind): JsonObject | null {
  const reader = parent.object("embedding_function");
  if (reader === null) return null;
  reader.required("type");
  if (reader.choice("type", TYPES) === "known") {
    reader.requiredString("name");
    reader.object("config");
  }
  const path = parent.pathOf("embedding_function");
  const given = toPlainJson(parent.get("embedding_function"), path) as JsonObject;
  const embeddingFunction = withStatistics(given);
  checkEmbeddingFunction(embeddingFunction, kind, path);
  return embeddingFunction;
}

/** `legacy` and `unknown` say that a function exists on the client only; neither tells the server anything. */
export function namesFunction(embeddingFunction: JsonObject | null): boolean {
  return embeddingFunction !== null && embeddingFunction["type"] === "known";
}

/** True where a client did not choose: nothing named, or the function that clients put in by themselves. */
export function isDefaultFunction(embeddingFunction: JsonObject | null): boolean {
  return !namesFunction(embeddingFunction) || embeddingFunction?.["name"] === "default";
}

/** What callers hear who left an embedding to the server, and it has no function to make it with. */
import { type ModelKind, describeUnknownModel, kindOfModel } from "../embed/models.ts";
import type { JsonObject } from "./ast.ts";
import { FUNCTION_NAMES, embeddingPlan } from "./embedding-plan.ts";
import { namesFunction } from "./embedding-function.ts";

/** Longest name that is said back. */
const SHOWN_CHARACTERS = 100;

/** @param kind Of the index that the function belongs to. */
export function describeMissingFunction(embeddingFunction: JsonObject | null, kind: ModelKind): string {
  const known = `this server has ${FUNCTION_NAMES.join(", ")}`;
  const name = namesFunction(embeddingFunction) ? embeddingFunction?.["name"] : null;
  if (typeof name !== "string") return `the collection was made without an embedding function; ${known}`;
  const shown = JSON.stringify(name.slice(0, SHOWN_CHARACTERS));
  const plan = embeddingPlan(embeddingFunction);
  if (plan === null) return `the embedding function ${shown} is unknown; ${known}`;
  const made = kindOfModel(plan.model);
  if (made === null) return `of the embedding function ${shown}: ${describeUnknownModel(plan.model)}`;
  if (made !== kind) return `the embedding function ${shown} makes ${made} vectors, not ${kind} ones`;
  return `the vectors of the embedding function ${shown} have another dimension than those of the collection`;
}

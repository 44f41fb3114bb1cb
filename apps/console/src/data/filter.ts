/** The filter of a view as JSON, and what clicks on facets make of it. */
import type { ValueTypes } from "@sheaf/client";
import { type JsonObject, fieldOf, isObject } from "../parts/json-text.ts";

export type Scalar = string | number | boolean;

/** Clauses that all have to hold: of an `$and` its children, of any other filter itself. */
function clausesOf(where: JsonObject | null): readonly JsonObject[] {
  if (where === null) return [];
  const { $and } = where;
  return Array.isArray($and) && Object.keys(where).length === 1 ? $and.filter(isObject) : [where];
}

function ofClauses(clauses: readonly JsonObject[]): JsonObject | null {
  if (clauses.length < 2) return clauses[0] ?? null;
  return { $and: clauses };
}

/** Values that the clause takes for the key; `null` if it says something else. */
function takenBy(clause: JsonObject, key: string): readonly Scalar[] | null {
  const said = Object.keys(clause).length === 1 ? fieldOf(clause, key) : undefined;
  if (isScalar(said)) return [said];
  if (!isObject(said) || Object.keys(said).length !== 1) return null;
  const { $eq, $in } = said;
  if (isScalar($eq)) return [$eq];
  return Array.isArray($in) && $in.every(isScalar) ? $in : null;
}

function isScalar(value: unknown): value is Scalar {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** Values of the key that the filter takes; empty where it takes all of them. */
export function chosenValues(where: JsonObject | null, key: string): readonly Scalar[] {
  return clausesOf(where).flatMap((clause) => takenBy(clause, key) ?? []);
}

/** Whether the filter takes the value because it was chosen. */
export function hasValue(where: JsonObject | null, key: string, value: Scalar): boolean {
  return chosenValues(where, key).includes(value);
}

/** What else the filter asks for. */
export function withoutValues(where: JsonObject | null, key: string): JsonObject | null {
  return ofClauses(clausesOf(where).filter((clause) => takenBy(clause, key) === null));
}

/** Takes the value beside those of the key that are taken, or no more. Values of one list are of one kind: one of another replaces them. */
export function toggleValue(where: JsonObject | null, key: string, value: Scalar): JsonObject | null {
  const chosen = chosenValues(where, key).filter((known) => typeof known === typeof value);
  const next = chosen.includes(value) ? chosen.filter((known) => known !== value) : [...chosen, value];
  const [first, ...more] = next;
  const others = clausesOf(where).filter((clause) => takenBy(clause, key) === null);
  if (first === undefined) return ofClauses(others);
  return ofClauses([...others, { [key]: more.length === 0 ? first : { $in: next } }]);
}

/** A clause for a key to go on typing, with a value of the kind that its records have. */
export function clauseToType(key: string, types: ValueTypes | undefined): JsonObject {
  if (key === "#document") return { [key]: { $contains: "" } };
  if (types?.string !== undefined || types === undefined) return { [key]: { $eq: "" } };
  if (types.int !== undefined || types.float !== undefined) return { [key]: { $gte: 0 } };
  return { [key]: { $eq: types.bool === undefined ? "" : true } };
}

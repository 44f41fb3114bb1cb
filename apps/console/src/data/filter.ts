/** The filter of a view as JSON, and what clicks on facets make of it. */
import { type JsonObject, isObject } from "../parts/json-text.ts";

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

function clauseOf(key: string, value: Scalar): JsonObject {
  return { [key]: value };
}

/** Whether the filter has the clause that a click on the value adds. */
export function hasValue(where: JsonObject | null, key: string, value: Scalar): boolean {
  return clausesOf(where).some((clause) => isSame(clause, clauseOf(key, value)));
}

/** Adds the clause, or takes it away. */
export function toggleValue(where: JsonObject | null, key: string, value: Scalar): JsonObject | null {
  const clauses = clausesOf(where);
  const clause = clauseOf(key, value);
  const others = clauses.filter((known) => !isSame(known, clause));
  return ofClauses(others.length < clauses.length ? others : [...clauses, clause]);
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

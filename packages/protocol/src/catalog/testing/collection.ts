/** Collections as tests describe them. */
import type { Collection, CreateCollection } from "../ast.ts";
import { parseCreateCollection } from "../collection.ts";
import { bodyOf } from "./refusal.ts";

const AT = { tenant: "default_tenant", database: "default_database" };

/** What a create body says; `name` is filled in. A string is JSON text. */
export function createOf(body: object | string): CreateCollection {
  const parsed = typeof body === "string" ? body : { name: "docs", ...body };
  return parseCreateCollection(bodyOf(parsed), AT);
}

/** The stored collection that a create body leads to. */
export function collectionOf(body: object | string): Collection {
  const { getOrCreate: _getOrCreate, ...described } = createOf(body);
  return {
    ...described,
    id: "00000000-0000-4000-8000-000000000001",
    dimension: null,
    logPosition: 0,
    version: 0,
    models: {},
  };
}

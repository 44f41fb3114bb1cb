/** Body of the database route and the reply that describes a database. */
import type { Database } from "./ast.ts";
import { BodyReader } from "./body-reader.ts";
import { parseName } from "./name.ts";

export interface DatabaseBody {
  readonly name: string;
}

/** @throws SheafError 400 for a bad name, 422 for a wrong type. */
export function parseDatabaseBody(body: unknown): DatabaseBody {
  return Object.freeze({ name: parseName(new BodyReader(body, "").get("name"), "name") });
}

export function writeDatabase(database: Database): string {
  const { id, name, tenant } = database;
  return JSON.stringify({ id, name, tenant });
}

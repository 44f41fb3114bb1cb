/** One operation of a comparison of servers, as data: it is made at random, sent to both, and printed if they disagree. */
import { type Json, type JsonObject, writePlainJson } from "@sheaf/protocol";

export type Verb = CollectionVerb | RecordVerb;
type CollectionVerb = "create" | "modify" | "drop" | "show" | "list" | "collections_count";
type RecordVerb = "add" | "upsert" | "update" | "delete" | "get" | "query" | "count";

export interface Step {
  readonly verb: Verb;
  /** Which of a few collections; each server has ids of its own for them. */
  readonly slot: number;
  readonly body: JsonObject | null;
}

export interface Request {
  readonly method: string;
  /** Below the database. */
  readonly path: string;
  readonly body: string | null;
}

/** Of what there is not. */
const NO_ID = "00000000-0000-4000-8000-000000000000";

type Place = { readonly collection: string; readonly name: string };

/** Method, and path below the database. */
const ROUTES: Readonly<Record<Verb, (at: Place) => readonly [string, string]>> = {
  create: () => ["POST", "/collections"],
  modify: ({ collection }) => ["PUT", collection],
  drop: ({ name }) => ["DELETE", `/collections/${name}`],
  show: ({ name }) => ["GET", `/collections/${name}`],
  list: () => ["GET", "/collections"],
  collections_count: () => ["GET", "/collections_count"],
  count: ({ collection }) => ["GET", `${collection}/count`],
  add: ({ collection }) => ["POST", `${collection}/add`],
  upsert: ({ collection }) => ["POST", `${collection}/upsert`],
  update: ({ collection }) => ["POST", `${collection}/update`],
  delete: ({ collection }) => ["POST", `${collection}/delete`],
  get: ({ collection }) => ["POST", `${collection}/get`],
  query: ({ collection }) => ["POST", `${collection}/query`],
};

/** @param known Id and name of the step's collection on the server that is asked. */
export function requestOf(step: Step, known: { readonly id: string | null; readonly name: string }): Request {
  const [method, path] = ROUTES[step.verb]({
    collection: `/collections/${known.id ?? NO_ID}`,
    name: known.name,
  });
  return { method, path, body: step.body === null ? null : writePlainJson(step.body) };
}

/** As a person sends it again. */
export function printStep(step: Step): string {
  const { method, path, body } = requestOf(step, { id: `{${nameOf(step.slot)}}`, name: nameOf(step.slot) });
  return `${method} …${path}${body === null ? "" : ` ${body}`}`;
}

/** Name of a slot's collection, unless it was renamed. */
export function nameOf(slot: number): string {
  return `slot-${slot}`;
}

/** The member of a step's body; `null` where there is none. */
export function memberOf(step: Step, key: string): Json {
  return step.body?.[key] ?? null;
}

/** The ids that a step names; `null`: none. */
export function idsOf(step: Step): readonly string[] | null {
  const ids = memberOf(step, "ids");
  return Array.isArray(ids) ? ids.map(String) : null;
}

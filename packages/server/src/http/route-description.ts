/**
 * What a route says of itself for the API description. Paths, methods, scopes and the embedding surface are read from
 * the route; here stands only what the route does not show: words, schemas and the errors of its own.
 */
import type { ErrorCode } from "@sheaf/protocol";

/** A JSON Schema (2020-12) as it stands in the API description. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Sections of the API description, in the order in which it shows them. */
export const TAGS = {
  Embedding: "Texts in, dense or sparse vectors out.",
  Records: "Writing, reading and removing the records of a collection.",
  Search: "Searches: filter, rank, group, page, select.",
  Collections: "Making, describing and removing collections.",
  Databases: "Databases of a tenant.",
  Tenants: "Tenants of the server.",
  Keys: "API keys: making, listing, rotating and revoking them.",
  Backups: "Copies of everything, or of a tenant, made while the server goes on.",
  System: "Whether the server is there, what it is, and who asks.",
} as const;

export type Tag = keyof typeof TAGS;

export interface ReplyDescription {
  readonly description: string;
  readonly schema: JsonSchema;
  /** Header name -> what it says. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `application/json` unless it says otherwise. */
  readonly mediaType?: string;
}

export interface RouteDescription {
  /** One line, an imperative without a full stop. */
  readonly summary: string;
  /** More, in Markdown. */
  readonly details?: string;
  readonly tag: Tag;
  /** Parameters of the path that mean something else than `PATH_PARAMETERS` says. */
  readonly path?: Readonly<Record<string, JsonSchema>>;
  /** Parameters of the query string, all optional. */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /** Request headers, all required. */
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  readonly body?: JsonSchema;
  /** Success status -> reply. */
  readonly replies: Readonly<Record<number, ReplyDescription>>;
  /** Beyond those that every route of its kind has (`error-responses.ts`). */
  readonly errors?: readonly ErrorCode[];
}

/** A 200 with a body of this form. */
export function answers(schema: JsonSchema, description = "Success."): RouteDescription["replies"] {
  return { 200: { description, schema } };
}

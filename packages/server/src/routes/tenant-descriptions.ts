/** What the API description says of the tenant and database routes. */
import { NEXT_HEADER } from "../http/list-page.ts";
import { type JsonSchema, Type } from "../openapi/json-schema.ts";
import { type RouteDescription, answers } from "../http/route-description.ts";
import { count, ref } from "../openapi/schema-parts.ts";

const EMPTY = answers(ref("Empty"));
const UINT32_MAX = 2 ** 32 - 1;

/** Query parameters of lists. */
export const PAGE = {
  limit: count("At most so many; all if it is left out.", UINT32_MAX),
  offset: count("Leave out the first so many.", UINT32_MAX),
  after: Type.String({ description: `Begin behind the page that had this \`${NEXT_HEADER}\`.` }),
} as const;

/** A 200 with a list, or a page of one. */
export function answersList(item: JsonSchema, description: string): RouteDescription["replies"] {
  const next = "`after` of the next page. Left out where there is no more, and without `limit`.";
  return { 200: { description, schema: Type.Array(item), headers: { [NEXT_HEADER]: next } } };
}

export const TENANTS = {
  create: {
    summary: "Create a tenant",
    tag: "Tenants",
    body: ref("TenantBody"),
    replies: EMPTY,
    errors: ["already_exists"],
  },
  list: {
    summary: "List tenants",
    tag: "Tenants",
    query: PAGE,
    replies: answersList(ref("Tenant"), "By name."),
    errors: ["too_large"],
  },
  get: { summary: "Get a tenant", tag: "Tenants", replies: answers(ref("Tenant")) },
  update: {
    summary: "Set the resource name of a tenant",
    tag: "Tenants",
    body: ref("TenantUpdate"),
    replies: EMPTY,
    errors: ["already_exists"],
  },
  delete: {
    summary: "Delete a tenant",
    details: "Its databases and collections go with it. 409 for the default one, unless reset is allowed.",
    tag: "Tenants",
    replies: EMPTY,
    errors: ["protected"],
  },
} as const satisfies Record<string, RouteDescription>;

export const DATABASES = {
  create: {
    summary: "Create a database",
    tag: "Databases",
    body: ref("DatabaseBody"),
    replies: EMPTY,
    errors: ["already_exists"],
  },
  list: {
    summary: "List databases",
    tag: "Databases",
    query: PAGE,
    replies: answersList(ref("Database"), "By name."),
    errors: ["too_large"],
  },
  get: { summary: "Get a database", tag: "Databases", replies: answers(ref("Database")) },
  delete: {
    summary: "Delete a database",
    details: "Its collections go with it. 409 for the default one, unless reset is allowed.",
    tag: "Databases",
    replies: EMPTY,
    errors: ["protected"],
  },
} as const satisfies Record<string, RouteDescription>;

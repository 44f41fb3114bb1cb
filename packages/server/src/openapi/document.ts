/**
 * The OpenAPI 3.1 documents, made from the routes: one of the embedding interface, one of everything else. A document
 * holds the named schemas that its operations reach and no other.
 *
 * Invariant: a route stands in exactly one document, or in none where it has no description.
 */
import type { Route, Surface } from "../http/route.ts";
import { COMPONENT_SCHEMAS } from "./component-schemas.ts";
import { type Operation, operationOf, pathTemplate, SECURITY_SCHEMES } from "./operation.ts";
import { TAGS } from "../http/route-description.ts";
import { componentName } from "./schema-parts.ts";

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Path -> method in lower case -> operation. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>;
    readonly securitySchemes: typeof SECURITY_SCHEMES;
  };
}

/** The version that the interface carries, not the server: it changes when the wire does. */
const HEADINGS = {
  v2: {
    title: "Sheaf",
    version: "1.0.0",
    description:
      "Tenants, databases, collections, records and searches. The embedding interface is described at `/embed/openapi.json`.",
  },
  embed: {
    title: "Sheaf embedding",
    version: "0.1.0",
    description: "Texts in, dense or sparse vectors out. The model is chosen by a request header.",
  },
} as const satisfies Record<Surface, unknown>;

/** The document of one surface. */
export function openApiDocument(surface: Surface, routes: readonly Route[]): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {};
  const tags = new Set<string>();
  for (const route of routes) {
    if ((route.surface ?? "v2") !== surface || route.description === undefined) continue;
    const item = (paths[pathTemplate(route.path)] ??= {});
    item[route.method.toLowerCase()] = operationOf(route, route.description);
    tags.add(route.description.tag);
  }
  return {
    openapi: "3.1.0",
    info: { ...HEADINGS[surface], license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS)
      .filter(([name]) => tags.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: reachableSchemas(paths), securitySchemes: SECURITY_SCHEMES },
  };
}

/** The named schemas that `part` refers to, directly or through one another, in the order of their table. */
function reachableSchemas(part: unknown): Record<string, unknown> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (key !== "$ref" || typeof member !== "string") visit(member);
      else follow(member);
    }
  };
  const follow = (pointer: string): void => {
    const name = componentName(pointer);
    const schema = name === null ? undefined : COMPONENT_SCHEMAS[name];
    if (name === null || schema === undefined) throw new Error(`${pointer} is no schema`);
    if (found.has(name)) return;
    found.add(name);
    visit(schema);
  };
  visit(part);
  return Object.fromEntries(Object.entries(COMPONENT_SCHEMAS).filter(([name]) => found.has(name)));
}

/** One route as an OpenAPI operation. */
import type { Route } from "../http/route.ts";
import { type JsonSchema, Type } from "./json-schema.ts";
import { errorResponses } from "./error-responses.ts";
import { EXAMPLES } from "./examples.ts";
import type { ReplyDescription, RouteDescription } from "../http/route-description.ts";

/** What a parameter of a path stands for, unless its route says otherwise. */
const PATH_PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  tenant: Type.String({ description: "Name of the tenant." }),
  database: Type.String({ description: "Name of the database." }),
  collection: Type.String({ format: "uuid", description: "Id of the collection." }),
  function: Type.String({ description: "Name of the function." }),
};

/** Schemes of `securitySchemes`; any one of them will do. */
const SCHEMES = ["serviceToken", "chromaToken", "bearer"];

export interface Operation {
  readonly operationId: string;
  readonly [member: string]: unknown;
}

/** `/a/:b` -> `/a/{b}`. */
export function pathTemplate(path: string): string {
  return path.replaceAll(/:(\w+)/gu, "{$1}");
}

/** @throws Error for a path parameter that nothing describes. */
export function operationOf(route: Route, description: RouteDescription): Operation {
  const parameters = [
    ...pathParameters(route, description),
    ...parametersIn("query", description.query ?? {}, false),
    ...parametersIn("header", description.headers ?? {}, true),
  ];
  const { body, details } = description;
  return {
    operationId: operationId(route),
    tags: [description.tag],
    summary: description.summary,
    ...detailsOf(route, details),
    security: security(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(body) }),
    responses: { ...successes(description), ...errorResponses(route) },
  };
}

/** `schema`: names one of the components, alone or as the first of several. */
function requestBody(schema: JsonSchema): object {
  const [first = schema] = (schema["anyOf"] ?? []) as readonly JsonSchema[];
  const name = String(first["$ref"]).split("/").at(-1) ?? "";
  const example = EXAMPLES[name];
  if (example === undefined) throw new Error(`the body ${name} has no example`);
  return { required: true, content: { "application/json": { schema, example } } };
}

/** What stands above every collection and adds nothing to the name of an operation. */
const DATABASE_PREFIX = /^\/tenants\/:tenant\/databases\/:database(?=\/)/u;

/**
 * `GET .../collections/:collection/count` -> `get_collection_count`. Stable as long as method and path are: generated
 * clients name their functions by it.
 */
function operationId({ method, path }: Route): string {
  const named = path
    .replace(/^\/api\/v2/u, "")
    .replace(DATABASE_PREFIX, "")
    .replaceAll(/(\w+)s\/:\1/gu, "$1")
    .replaceAll(/(by-\w+)\/:\w+/gu, "$1")
    .replaceAll("/:", "/by_");
  const words = named.split(/[/_.-]/u).filter((word) => word !== "");
  return [method.toLowerCase(), ...(words.length === 0 ? ["root"] : words)].join("_");
}

function detailsOf({ scope, tenant }: Route, details: string | undefined): { description?: string } {
  const bound = tenant === "unbound" ? " and be bound to no tenant" : "";
  const access =
    scope === "public" || scope === "any" ? "" : `The key must have the scope \`${scope}\`${bound}.`;
  const text = [details ?? "", access].filter((part) => part !== "").join("\n\n");
  return text === "" ? {} : { description: text };
}

function security({ scope }: Route): readonly object[] {
  if (scope === "public") return [];
  const scopes = scope === "any" ? [] : [scope];
  return SCHEMES.map((scheme) => ({ [scheme]: scopes }));
}

function pathParameters(route: Route, description: RouteDescription): readonly object[] {
  const names = [...route.path.matchAll(/:(\w+)/gu)].map((match) => match[1] ?? "");
  const schemas = names.map((name): [string, JsonSchema] => {
    const schema = description.path?.[name] ?? PATH_PARAMETERS[name];
    if (schema === undefined) throw new Error(`${route.path}: nothing describes the parameter ${name}`);
    return [name, schema];
  });
  return parametersIn("path", Object.fromEntries(schemas), true);
}

function parametersIn(
  place: "path" | "query" | "header",
  schemas: Readonly<Record<string, JsonSchema>>,
  required: boolean,
): readonly object[] {
  return Object.entries(schemas).map(([name, schema]) => {
    // Pages show the description of a parameter, not that of its schema.
    const { description, ...form } = schema as { readonly description?: string };
    return { name, in: place, required, ...(description === undefined ? {} : { description }), schema: form };
  });
}

function successes({ replies }: RouteDescription): Record<string, unknown> {
  return Object.fromEntries(Object.entries(replies).map(([status, reply]) => [status, success(reply)]));
}

function success({ description, schema, headers, mediaType = "application/json" }: ReplyDescription): object {
  const described = Object.entries(headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: { type: "string" } },
  ]);
  return {
    description,
    ...(headers === undefined ? {} : { headers: Object.fromEntries(described) as object }),
    content: { [mediaType]: { schema } },
  };
}

/** The ways to send a key. */
export const SECURITY_SCHEMES = {
  serviceToken: { type: "apiKey", in: "header", name: "x-service-token" },
  chromaToken: { type: "apiKey", in: "header", name: "x-chroma-token" },
  bearer: { type: "http", scheme: "bearer" },
} as const;

/**
 * Holds a request and its answer against the API description: a body that was taken is one that the description
 * allows, a status is one that it names, and the answer has the form that it gives. Every test that asks the app goes
 * through it, so the description cannot drift from what the server does.
 */
import type { Route } from "../http/route.ts";
import { operationOf } from "../openapi/operation.ts";
import { violation } from "../openapi/testing/schema-validator.ts";

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: object }>>;
}

interface Exchange {
  readonly request: string;
  /** The body as it was sent. */
  readonly sent: string | undefined;
  readonly status: number;
  readonly received: unknown;
}

/** Refusals that come before a route is reached (413: a body where none is read), or that no description promises. */
const ANYWHERE: ReadonlySet<number> = new Set([405, 413, 503]);

/** Throws where the description and the exchange disagree. A route that is not described may do as it likes. */
export function checkDescribed(routes: readonly Route[], exchange: Exchange): void {
  const { request, sent, status, received } = exchange;
  const route = routeOf(routes, request);
  if (route?.description === undefined) return;
  const { requestBody, responses } = operationOf(route, route.description) as object as {
    readonly requestBody?: Content;
    readonly responses: Readonly<Record<string, Content>>;
  };
  const response = responses[String(status)];
  if (response === undefined) {
    if (ANYWHERE.has(status)) return;
    throw new Error(`${request}: ${status} is not described`);
  }
  const wrongAnswer = violation(schemaOf(response), received);
  if (wrongAnswer !== null) throw new Error(`${request}: ${status} answers another form: ${wrongAnswer}`);
  if (status >= 300 || requestBody === undefined || sent === undefined) return;
  const wrongBody = violation(schemaOf(requestBody), JSON.parse(sent));
  if (wrongBody !== null) throw new Error(`${request}: took a body that is not described: ${wrongBody}`);
}

function schemaOf({ content }: Content): object {
  return content["application/json"]?.schema ?? {};
}

/** The route behind `METHOD /path?query`; one without parameters wins. */
function routeOf(routes: readonly Route[], request: string): Route | undefined {
  const [method, url = ""] = request.split(" ");
  const path = url.split("?")[0] ?? "";
  const matching = routes.filter((route) => route.method === method && pattern(route.path).test(path));
  return matching.sort((one, other) => parameters(one.path) - parameters(other.path))[0];
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/[.*]/gu, String.raw`\$&`).replaceAll(/:\w+/gu, "[^/]+")}$`, "u");
}

function parameters(path: string): number {
  return path.split(":").length;
}

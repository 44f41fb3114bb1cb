/**
 * What is known of each route of the server: how its path is made and which bodies it takes. Everything comes from the
 * server's own table of routes and its API description, so a new route is fuzzed without anybody thinking of it.
 */
import { createEmbedder } from "@sheaf/inference";
import { allRoutes } from "@sheaf/server";
import * as fc from "fast-check";
import type { Route } from "../../packages/server/src/http/route.ts";
import { Lifecycle } from "../../packages/server/src/lifecycle.ts";
import { operationOf } from "../../packages/server/src/openapi/operation.ts";
import { componentName } from "../../packages/server/src/openapi/schema-parts.ts";
import { ACCEPTED_BODIES } from "../../packages/server/src/openapi/testing/accepted-bodies.ts";
import { ADJUSTMENTS } from "../../packages/server/src/openapi/testing/adjustments.ts";
import { arbitraryOf } from "../../packages/server/src/openapi/testing/schema-arbitrary.ts";
import { refuseEngine } from "../../packages/server/src/request/engine-source.ts";
import { FITTING_BODIES } from "./fitting-bodies.ts";
import { type JsonTree, toTree } from "./json-tree.ts";

export interface RouteGrammar {
  readonly method: string;
  readonly path: string;
  /** How often it is asked beside the others. */
  readonly weight: number;
  readonly surface: "v2" | "embed";
  /** Bodies that its parser takes; none where it reads no body. */
  readonly bodies: readonly JsonTree[];
  /** Those of them that the collections there are suit. */
  readonly fitting: readonly JsonTree[];
  /** Names of its parameters in the query string. */
  readonly query: readonly string[];
  /** Statuses that its description names; `null`: it has no description. */
  readonly statuses: ReadonlySet<number> | null;
}

/** Made of the grammar, beside those that are written down. */
const MADE_BODIES = 250;
const BODY_WEIGHT = 4;
/** What takes the collection of other requests away. */
const RARE_WEIGHT = 0.2;
/** What is gone, and what takes all collections away. */
const RAREST_WEIGHT = 0.05;

/** @param seed Of the bodies that the grammar makes. */
export async function routeGrammars(seed: number): Promise<readonly RouteGrammar[]> {
  const embedder = createEmbedder({ replicas: 1 });
  const routes = allRoutes({
    engine: refuseEngine,
    embedder,
    keys: null,
    lifecycle: new Lifecycle(),
    allowReset: false,
  });
  await embedder.close();
  const pools = new Map<string, readonly JsonTree[]>();
  return routes.map((route) => grammarOf(route, seed, pools));
}

function grammarOf(route: Route, seed: number, pools: Map<string, readonly JsonTree[]>): RouteGrammar {
  const { method, path, surface = "v2", description } = route;
  const name = bodyName(route);
  const bodies = bodiesOf(name, seed, pools);
  return {
    ...{ method, path, surface, bodies },
    fitting: (FITTING_BODIES[name ?? ""] ?? []).map(toTree),
    weight: weightOf(route, bodies.length > 0),
    query: Object.keys(description?.query ?? {}),
    statuses: description === undefined ? null : describedStatuses(route),
  };
}

function weightOf({ method, path }: Route, hasBody: boolean): number {
  if (method === "DELETE") return path.includes("/collections/") ? RARE_WEIGHT : RAREST_WEIGHT;
  if (path.startsWith("/api/v1")) return RAREST_WEIGHT;
  return hasBody ? BODY_WEIGHT : 1;
}

function bodyName({ surface, description }: Route): string | null {
  const reference = Reflect.get(description?.body ?? {}, "$ref") as string | undefined;
  if (reference !== undefined) return componentName(reference);
  // A hidden twin of a described route.
  return surface === "embed" ? "EmbedBody" : null;
}

function bodiesOf(
  name: string | null,
  seed: number,
  pools: Map<string, readonly JsonTree[]>,
): readonly JsonTree[] {
  if (name === null) return [];
  const known = pools.get(name);
  if (known !== undefined) return known;
  const made = fc.sample(arbitraryOf(name, ADJUSTMENTS), { seed, numRuns: MADE_BODIES });
  const bodies = [...(ACCEPTED_BODIES[name] ?? []), ...made].map(toTree);
  pools.set(name, bodies);
  return bodies;
}

function describedStatuses(route: Route): ReadonlySet<number> {
  if (route.description === undefined) return new Set();
  const { responses } = operationOf(route, route.description) as object as { readonly responses: object };
  return new Set(Object.keys(responses).map(Number));
}

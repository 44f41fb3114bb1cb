/**
 * Answers requests for which the router has no route: 405 with the methods that the path takes, 204 to OPTIONS, 404 for
 * other paths. The paths are compared here, one by one, because the router would hold each once more for every method
 * that it does not have, and making that takes longer than all of its routes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SheafError } from "@sheaf/protocol";
import { errorResponse } from "./error-response.ts";
import type { Route, Surface } from "./route.ts";

interface KnownPath {
  readonly path: string;
  /** Its segments. */
  readonly pattern: readonly string[];
  readonly surface: Surface;
  readonly allow: string;
}

const API_PREFIX = ["", "api", "v2"];
const HEALTH = "GET /livez says whether the server runs, GET /readyz whether it can answer requests";
/** What clients of other servers ask for. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  [
    "/v1/embeddings",
    "texts are embedded by POST /embed, described at /embed/openapi.json; there is no OpenAI route",
  ],
  ["/health", HEALTH],
  ["/healthz", HEALTH],
]);
/** A target may name a host before its path. */
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

export function answerOtherMethods(app: FastifyInstance, routes: readonly Route[]): void {
  const paths = knownPaths(routes);
  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    const segments = segmentsOf(request.raw.url ?? "");
    const known = find(paths, segments);
    if (known === null) {
      const hint = ELSEWHERE.get(segments.join("/")) ?? instead(paths, segments);
      throw new SheafError("not_found", `no such path; ${hint}`);
    }
    const { path, surface, allow } = known;
    request.pattern = path;
    void reply.header("allow", allow);
    if (request.method === "OPTIONS") return reply.code(204).send();
    const refusal = new SheafError("method_not_allowed", `this path takes ${allow}`);
    const { status, body } = errorResponse(refusal, { surface, tooLargeStatus: 413, requestId: request.id });
    return reply.code(status).type("application/json").send(body);
  });
}

function knownPaths(routes: readonly Route[]): readonly KnownPath[] {
  return [...new Set(routes.map((route) => route.path))].map((path) => {
    const present = routes.filter((route) => route.path === path);
    const methods = present.map(({ method }) => method);
    // Fastify answers HEAD wherever there is a GET.
    const head = methods.includes("GET") ? ["HEAD"] : [];
    return {
      path,
      pattern: path.split("/"),
      surface: present[0]?.surface ?? "v2",
      allow: [...methods, ...head, "OPTIONS"].join(", "),
    };
  });
}

function segmentsOf(target: string): readonly string[] {
  const [path = ""] = target.replace(ABSOLUTE_FORM, "").split(/[?#]/u, 1);
  return path.split("/");
}

/** A path that ends in what was asked for, for those who left out tenant and database. */
function instead(paths: readonly KnownPath[], segments: readonly string[]): string {
  const rest = segments.filter((part, i) => part !== "" && part !== API_PREFIX[i]);
  const tail = ({ pattern }: KnownPath): readonly string[] => pattern.slice(-rest.length);
  const meant = paths.find(
    (known) => rest.length > 0 && tail(known)[0] === rest[0] && matches(tail(known), rest),
  );
  return meant === undefined
    ? "GET /docs lists all"
    : `it lies under ${meant.path.replace(/:(\w+)/gu, "{$1}")}`;
}

/** Of several, the one that names most of the path itself, as the router prefers it. */
function find(paths: readonly KnownPath[], segments: readonly string[]): KnownPath | null {
  const found = paths.filter(({ pattern }) => matches(pattern, segments));
  const parameters = ({ pattern }: KnownPath): number => pattern.filter(isParameter).length;
  return found.toSorted((a, b) => parameters(a) - parameters(b))[0] ?? null;
}

/** A `*` at the end stands for all that follows. */
function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === "*";
  if (isOpen ? segments.length < pattern.length : segments.length !== pattern.length) return false;
  return pattern.every((part, i) => part === segments[i] || part === "*" || isParameter(part));
}

function isParameter(part: string): boolean {
  return part.startsWith(":");
}

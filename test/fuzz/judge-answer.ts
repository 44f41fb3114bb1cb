/** What is wrong with an answer; any request, however broken, has to get one that keeps these rules. */
import type { MadeRequest } from "./request-generator.ts";
import type { WireAnswer } from "./response-reader.ts";
import type { Outcome } from "./wire-connection.ts";
import { isFramed } from "./wire-request.ts";

/** How long one answer may take. */
export const ANSWER_MS = 30_000;

/** Statuses that Node's parser and the router give before any route is found. */
const BEFORE_ROUTES: ReadonlySet<number> = new Set([400, 404, 405, 408, 413, 417, 431]);

/** The embedding endpoints have an error body of their own: no `message` beside the `error`. */
const EMBED_PATHS: ReadonlySet<string> = new Set(["/", "*", "/embed", "/embed_sparse"]);

/** `null`: nothing. */
export function judge(
  made: Pick<MadeRequest, "request"> & Partial<MadeRequest>,
  outcome: Outcome,
): string | null {
  const { request } = made;
  if (outcome === "no answer in time") return `no answer within ${ANSWER_MS} ms`;
  if (outcome === "closed") return isFramed(request) ? closedFault(made) : null;
  const { status } = outcome;
  if (status >= 500 && !(status === 501 && mayBeUnimplemented(made)))
    return `status ${status}: ${shown(outcome)}`;
  return bodyFault(made, outcome) ?? undescribed(made, outcome);
}

/** Connections may be closed in silence where the request is none that HTTP knows. */
function closedFault({ request }: Pick<MadeRequest, "request">): string | null {
  const wellFormed = /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)$/u.test(request.method);
  return wellFormed ? "the connection was closed without an answer" : null;
}

function mayBeUnimplemented({ grammar, onRoute }: Partial<MadeRequest>): boolean {
  return onRoute !== true || grammar === undefined || grammar.statuses?.has(501) !== false;
}

function bodyFault({ request }: Partial<MadeRequest>, answer: WireAnswer): string | null {
  if (request?.method === "HEAD" || answer.status === 204) return null;
  if (answer.status === 302 || answer.status === 308)
    return answer.headers["location"] === undefined ? `a redirect to nowhere: ${shown(answer)}` : null;
  const isJson = answer.headers["content-type"]?.startsWith("application/json") === true;
  if (!isJson) return answer.status < 400 ? null : `an error that is no JSON: ${shown(answer)}`;
  let body: unknown;
  try {
    body = JSON.parse(answer.body.toString("utf8"));
  } catch {
    return `no JSON: ${shown(answer)}`;
  }
  // The check of health answers in its own form.
  if (answer.status < 400) return null;
  const { error, message } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof error !== "string" || error === "") return `an error without a name: ${shown(answer)}`;
  const named = typeof message === "string" && message !== "";
  return named || EMBED_PATHS.has(request?.path.split(/[?#]/u)[0] ?? "")
    ? null
    : `an error without a message: ${shown(answer)}`;
}

/** A status that the API description of the route does not name. */
function undescribed(
  { grammar, onRoute, request }: Partial<MadeRequest>,
  { status }: WireAnswer,
): string | null {
  if (onRoute !== true || grammar?.statuses == null || grammar.statuses.has(status)) return null;
  if (BEFORE_ROUTES.has(status) || request?.framing !== "length") return null;
  return `status ${status} is not described`;
}

function shown({ status, body }: WireAnswer): string {
  return `${status} ${body.toString("utf8", 0, 300)}`;
}

/**
 * The only place where an error becomes HTTP. A `SheafError` shows its status and message; anything else is a fault
 * of ours or of the framework's, and what is ours becomes a 500 that names the request and nothing more.
 */
import { type ErrorCode, SheafError } from "@sheaf/protocol";
import { BodyTooLarge } from "../bodies/receive-body.ts";
import type { Reply, Surface } from "./route.ts";

/** Codes after which the same request may succeed later, and when to try, unless the error says it itself. */
const RETRY_AFTER_SECONDS: Readonly<Partial<Record<ErrorCode, number>>> = {
  rate_limited: 1,
  unavailable: 1,
  // Weights do not come by themselves within seconds: an operator fetches or repairs them.
  model_unavailable: 60,
};

export interface ErrorContext {
  readonly surface: Surface;
  readonly requestId: string;
  /** Status of a body over the size limit. */
  readonly tooLargeStatus: 400 | 413;
}

export interface ErrorResponse extends Reply {
  readonly body: string;
  /** Whether the operator has to hear of it: the caller only learns the request id. */
  readonly unexpected: boolean;
}

export function errorResponse(error: unknown, context: ErrorContext): ErrorResponse {
  const known = toSheafError(error, context);
  const shown =
    known ??
    new SheafError("internal", `internal error; the server's log has it under request ${context.requestId}`);
  return {
    status: shown.status,
    body: JSON.stringify(
      context.surface === "embed"
        ? { error: shown.message }
        : { error: shown.errorName, message: shown.message },
    ),
    headers: errorHeaders(shown),
    unexpected: known === null,
  };
}

function errorHeaders(error: SheafError): Record<string, string> {
  const seconds = error.retryAfterSeconds ?? RETRY_AFTER_SECONDS[error.code];
  return {
    ...(seconds === undefined ? {} : { "retry-after": String(seconds) }),
    ...(error.code === "unauthenticated" ? { "www-authenticate": "Bearer" } : {}),
  };
}

/** `null`: nothing a caller may be told about. */
function toSheafError(error: unknown, context: ErrorContext): SheafError | null {
  if (error instanceof SheafError) return error;
  if (isLostConnection(error)) return new SheafError("cancelled", "the caller has closed the connection");
  const status = error instanceof BodyTooLarge ? 413 : frameworkStatus(error);
  if (status === 413) {
    const code = context.tooLargeStatus === 413 ? "too_large" : "invalid_argument";
    const words =
      error instanceof BodyTooLarge ? error.message : "the request body is larger than the server accepts";
    return new SheafError(code, words, { cause: error });
  }
  if (status === 414) return new SheafError("not_found", "no such path", { cause: error });
  if (status !== null) return new SheafError("invalid_argument", "malformed HTTP request", { cause: error });
  return null;
}

/** The caller left in the middle of its body or of the answer: no fault of anybody here, and nobody reads the answer. */
const LOST_CONNECTION: ReadonlySet<unknown> = new Set(["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"]);

function isLostConnection(error: unknown): boolean {
  return error instanceof Error && "code" in error && LOST_CONNECTION.has(error.code);
}

/** The 4xx that Fastify itself decided on, `null` for every other error. */
function frameworkStatus(error: unknown): number | null {
  if (!(error instanceof Error) || !("code" in error) || !("statusCode" in error)) return null;
  const { code, statusCode } = error;
  if (typeof code !== "string" || !code.startsWith("FST_") || typeof statusCode !== "number") return null;
  return statusCode >= 400 && statusCode < 500 ? statusCode : null;
}

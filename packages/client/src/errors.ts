/** Errors of the client: one class per family of answers, each with the request id to look for in the server's log. */

/** Everything the client throws but a `TypeError` for wrong arguments and the reason of an aborted signal. */
export class SheafClientError extends Error {
  /** Records of a write in several batches that were stored before this one failed. */
  recordsWritten = 0;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No answer came: nobody listens there, or the connection ended. The cause is what `fetch` threw. */
export class UnreachableError extends SheafClientError {
  constructor(url: string, cause: unknown) {
    super(`no answer from ${url}: ${reasonOf(cause)}`, { cause });
  }
}

/** The call took longer than its `timeoutMs`, repeated attempts included. What it wrote may have been stored. */
export class RequestTimeoutError extends SheafClientError {
  constructor(url: string, timeoutMs: number) {
    super(`no answer from ${url} within ${timeoutMs} ms`);
  }
}

/** `fetch` fails with "fetch failed" whatever the reason, which is its cause, or one of several below that. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  const [first = cause] = (cause as { errors?: readonly unknown[] } | null)?.errors ?? [];
  return first instanceof Error ? first.message : String(first);
}

export interface ErrorDetails {
  readonly status: number;
  /** The `error` field of the answer, e.g. `InvalidArgumentError`. */
  readonly name: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
}

/** Any answer of the server that is not a success. */
export class SheafApiError extends SheafClientError {
  readonly status: number;
  readonly errorName: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(message: string, details: ErrorDetails) {
    super(message);
    this.status = details.status;
    this.errorName = details.name;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** 400 and 422: the request is wrong; the message names the path inside the body. */
export class InvalidRequestError extends SheafApiError {}
/** 401 and 403. */
export class AuthorizationError extends SheafApiError {}
/** 404. */
export class NotFoundError extends SheafApiError {}
/** 409 and 412. */
export class ConflictError extends SheafApiError {}
/** 413: a body or a text over its limit. */
export class TooLargeError extends SheafApiError {}
/** 429 and 503: the same call may succeed after `retryAfterSeconds`. */
export class BusyError extends SheafApiError {}
/** 501: not with this model, or not on this server. */
export class UnsupportedError extends SheafApiError {}
/** The other statuses from 500 on: a fault or an overrun deadline of the server. */
export class ServerError extends SheafApiError {}

const CLASS_OF_STATUS: Readonly<Record<number, typeof SheafApiError>> = {
  400: InvalidRequestError,
  401: AuthorizationError,
  403: AuthorizationError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  413: TooLargeError,
  422: InvalidRequestError,
  429: BusyError,
  501: UnsupportedError,
  503: BusyError,
};

/** Turns an answer that is not a success into its error. */
export function errorOf({ status, statusText, headers }: Response, text: string): SheafApiError {
  const body = parseBody(text);
  const ErrorClass = CLASS_OF_STATUS[status] ?? (status >= 500 ? ServerError : SheafApiError);
  const message = body.message ?? body.error ?? (text || statusText || `status ${status}`);
  return new ErrorClass(message, {
    status,
    name: body.error ?? statusText,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: secondsOf(headers.get("retry-after")),
  });
}

/** The server gives seconds; a proxy may give a date. */
function secondsOf(retryAfter: string | null): number | null {
  if (retryAfter === null || retryAfter.trim() === "") return null;
  const seconds = Number(retryAfter);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const untilThen = (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isNaN(untilThen) ? null : Math.max(0, untilThen);
}

function parseBody(text: string): { readonly error?: string; readonly message?: string } {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? body : {};
  } catch {
    // A proxy's page instead of our JSON: the caller still gets its text.
    return { message: text };
  }
}

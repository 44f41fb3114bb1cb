/** Errors of the client: one class per family of answers, each with the request id to look for in the server's log. */

export interface ErrorDetails {
  readonly status: number;
  /** The `error` field of the answer, e.g. `InvalidArgumentError`. */
  readonly name: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
}

/** No answer came: nobody listens there, or the connection ended. The cause is what `fetch` threw. */
export class UnreachableError extends Error {
  constructor(url: string, cause: unknown) {
    super(`no answer from ${url}: ${reasonOf(cause)}`, { cause });
    this.name = new.target.name;
  }
}

/** `fetch` fails with "fetch failed" whatever the reason, which is its cause, or one of several below that. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  const [first = cause] = (cause as { errors?: readonly unknown[] } | null)?.errors ?? [];
  return first instanceof Error ? first.message : String(first);
}

/** Any answer of the server that is not a success. */
export class SheafApiError extends Error {
  readonly status: number;
  readonly errorName: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(message: string, details: ErrorDetails) {
    super(message);
    this.name = new.target.name;
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
  503: BusyError,
};

/** Turns an answer that is not a success into its error. */
export async function errorOf(response: Response): Promise<SheafApiError> {
  const text = await response.text();
  const body = parseBody(text);
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const details: ErrorDetails = {
    status: response.status,
    name: body.error ?? response.statusText,
    requestId: response.headers.get("x-request-id"),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
  };
  const ErrorClass = CLASS_OF_STATUS[response.status] ?? SheafApiError;
  return new ErrorClass(body.message ?? body.error ?? (text || response.statusText), details);
}

function parseBody(text: string): { error?: string; message?: string } {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? body : {};
  } catch {
    // A proxy's page instead of our JSON: the caller still gets its text.
    return { message: text };
  }
}

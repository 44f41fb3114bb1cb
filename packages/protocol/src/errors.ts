/**
 * Every error a caller of Sheaf can meet, in one table: code -> HTTP status and the `error` name that existing
 * clients map to their exception classes. Code throws `new SheafError(code, message)`; nothing else decides a status.
 */

/** Name in the `error` field of a v2 body. Python clients choose their exception class by it. */
export type ErrorName =
  | "InvalidArgumentError"
  | "NotFoundError"
  | "InternalError"
  | "VersionMismatchError"
  | "ChromaError"
  | "ConditionalWriteConflictError"
  | "StaleReadError"
  | "TransactionsNotSupported"
  | "Backoff"
  | "Unimplemented";

interface ErrorEntry {
  readonly status: number;
  readonly name: ErrorName;
}

const ERROR_TABLE = {
  invalid_argument: { status: 400, name: "InvalidArgumentError" },
  unauthenticated: { status: 401, name: "ChromaError" },
  permission_denied: { status: 403, name: "ChromaError" },
  not_found: { status: 404, name: "NotFoundError" },
  method_not_allowed: { status: 405, name: "ChromaError" },
  already_exists: { status: 409, name: "ChromaError" },
  protected: { status: 409, name: "ChromaError" },
  model_mismatch: { status: 409, name: "ChromaError" },
  conditional_conflict: { status: 409, name: "ConditionalWriteConflictError" },
  gone: { status: 410, name: "Unimplemented" },
  failed_precondition: { status: 412, name: "ChromaError" },
  stale_read: { status: 412, name: "StaleReadError" },
  too_large: { status: 413, name: "ChromaError" },
  unsupported_media_type: { status: 415, name: "ChromaError" },
  unprocessable: { status: 422, name: "ChromaError" },
  rate_limited: { status: 429, name: "ChromaError" },
  cancelled: { status: 400, name: "ChromaError" },
  internal: { status: 500, name: "InternalError" },
  collection_unavailable: { status: 500, name: "InternalError" },
  unimplemented: { status: 501, name: "ChromaError" },
  transactions_not_supported: { status: 501, name: "TransactionsNotSupported" },
  unavailable: { status: 503, name: "ChromaError" },
  model_unavailable: { status: 503, name: "ChromaError" },
  timeout: { status: 504, name: "ChromaError" },
  storage_full: { status: 507, name: "ChromaError" },
  database_full: { status: 507, name: "ChromaError" },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_TABLE;

export interface SheafErrorOptions {
  readonly cause?: unknown;
  /** Whole seconds a caller should wait before it tries again; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Place in the body that the message begins with. */
  readonly path?: string;
}

/** Plain form of a `SheafError`, safe to send between processes. */
export interface ErrorMessage {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** The one error class that carries a status. Anything else that is thrown becomes a 500 without details. */
export class SheafError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;
  /** Place in the body that is wrong; lost between processes. */
  readonly path: string | undefined;

  constructor(code: ErrorCode, message: string, options: SheafErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "SheafError";
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.path = options.path;
  }

  get status(): number {
    return ERROR_TABLE[this.code].status;
  }

  /** The `error` field of a v2 body. */
  get errorName(): ErrorName {
    return ERROR_TABLE[this.code].name;
  }

  toMessage(): ErrorMessage {
    const base = { code: this.code, message: this.message };
    return this.retryAfterSeconds === undefined
      ? base
      : { ...base, retryAfterSeconds: this.retryAfterSeconds };
  }

  static fromMessage(message: ErrorMessage): SheafError {
    const { retryAfterSeconds } = message;
    return new SheafError(
      message.code,
      message.message,
      retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
    );
  }
}

/** 400 with the path inside the body first: `searches[0].limit.offset: must be a non-negative integer`. */
export function invalid(path: string, problem: string): SheafError {
  return new SheafError("invalid_argument", path === "" ? problem : `${path}: ${problem}`, { path });
}

/** 422: well-formed JSON of the wrong type, or a missing field. */
export function unprocessable(path: string, problem: string): SheafError {
  return new SheafError("unprocessable", path === "" ? problem : `${path}: ${problem}`, { path });
}

/** What errors of PostgreSQL and of its connections mean (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
import { SheafError } from "@sheaf/protocol";

/** Nobody can tell yet whether a transaction was committed. */
export class CommitUnknown extends Error {
  override readonly name = "CommitUnknown";
}

/** None can be had. The message is for whoever runs the server: it names the host. */
export class NoConnection extends Error {
  override readonly name = "NoConnection";
  /** A moment later it may be had. */
  readonly isPassing: boolean;
  /** The settings lack what the database asks for. */
  readonly isUnset: boolean;

  constructor(
    message: string,
    {
      cause,
      isPassing = true,
      isUnset = false,
    }: { readonly cause: unknown; readonly isPassing?: boolean; readonly isUnset?: boolean },
  ) {
    super(message, { cause });
    this.isPassing = isPassing;
    this.isUnset = isUnset;
  }
}

/** Another transaction was first, a deadlock. */
const LOST_RACE = new Set(["40001", "40P01"]);
/** Shut down, crashed, starting, no connection free, a primary that was made a standby. */
const PASSING = new Set(["57P01", "57P02", "57P03", "53300", "25006"]);
/** Two programs made the same table or schema at once. */
const MADE_TWICE = new Set(["23505", "42P06", "42P07", "42710"]);
/** A statement that took too long, a lock that others hold. */
const BUSY = new Set(["57014", "55P03"]);
/** No memory, no files, a bound of what one may take; the room on the disk is of this class, too. */
const RESOURCES_CLASS = "53";
/**
 * Values, constraints, the statement itself, its size, what it was made for, and what it would have taken. A server that finds
 * no room for the COMMIT itself ends, and its connections with it.
 */
const UNDONE_CLASSES = new Set(["22", "23", "42", "54", "55", RESOURCES_CLASS]);
const DUPLICATE = "23505";
const FORBIDDEN = "42501";
const DISK_FULL = "53100";
const CONNECTION_CLASS = "08";

/** Of the server's own errors, five characters; `null`: the connection or the wait for one failed. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as Error)
    ? code
    : null;
}

/** The same call may succeed a moment later, and has done nothing yet. */
export function isTransient(error: unknown): boolean {
  if (error instanceof SheafError) return false;
  if (error instanceof NoConnection) return error.isPassing;
  const state = sqlState(error);
  if (state === null) return isOfConnection(error);
  return LOST_RACE.has(state) || PASSING.has(state) || state.startsWith(CONNECTION_CLASS);
}

/** It answered a statement that makes something: another program has made it at the same moment. */
export function isMadeTwice(error: unknown): boolean {
  return MADE_TWICE.has(sqlState(error) ?? "");
}

/**
 * Of an error that answered a COMMIT, or a statement that commits by itself. A server that ends says nothing of what it has
 * committed before.
 */
export function commitOutcome(error: unknown): "undone" | "unknown" {
  const state = sqlState(error);
  const isUndone = state !== null && (LOST_RACE.has(state) || UNDONE_CLASSES.has(state.slice(0, 2)));
  return isUndone ? "undone" : "unknown";
}

/** Of what the server says beside an answer. The word for its kind is in the server's language, the code is not. */
export function isWarning(notice: unknown): boolean {
  const code = notice instanceof Object && "code" in notice ? notice.code : null;
  return typeof code === "string" && /^(?:01|57)/.test(code);
}

/** The user may not do that. */
export function isForbidden(error: unknown): boolean {
  return sqlState(error) === FORBIDDEN;
}

/** Its disk is full. */
export function isWithoutRoom(error: unknown): boolean {
  return sqlState(error) === DISK_FULL;
}

/** A row of this key is there. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === DUPLICATE;
}

/**
 * What a caller is told once nothing is tried any more.
 *
 * @param isUnknown An earlier attempt may have been committed.
 */
export function meaningOf(error: unknown, isUnknown: boolean): unknown {
  const options = { cause: error, retryAfterSeconds: 1 };
  if (isUnknown || error instanceof CommitUnknown)
    return new SheafError(
      "unavailable",
      "the database was lost; the change may or may not have been made",
      options,
    );
  if (error instanceof SheafError) return error;
  if (error instanceof NoConnection && !error.isPassing)
    return new SheafError("unavailable", "the database refuses this server, whose log says why", options);
  if (isWithoutRoom(error))
    return new SheafError("database_full", "the database has no room", { cause: error });
  if (isTransient(error)) return new SheafError("unavailable", "the database cannot be reached", options);
  const state = sqlState(error) ?? "";
  return BUSY.has(state) || state.startsWith(RESOURCES_CLASS)
    ? new SheafError("unavailable", "the database is too busy", options)
    : error;
}

/** Errors of sockets have a code of the system; those of the client have none, and say it in words. */
function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return /^E(?!RR_)[A-Z_]+$/.test(code) || /connection|timeout|not queryable/i.test(error.message);
}

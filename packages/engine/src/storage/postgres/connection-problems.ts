/** Why a connection to PostgreSQL cannot be had, for whoever runs the server. Callers of the API hear only that there is none. */
import { SheafError } from "@sheaf/protocol";
import type { EngineLog } from "../../engine-log.ts";
import { NoConnection, isForbidden, isTransient, sqlState } from "./postgres-errors.ts";

/** What was to be connected to, and as whom. */
export interface ConnectionPlace {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly hasPassword: boolean;
  /** Of several hosts another one may be well. */
  readonly isOne: boolean;
}

const WRONG_PASSWORD = "28P01";

/** Gives the error itself where it says nothing of the database. */
export function connectionProblem(error: unknown, place: ConnectionPlace): unknown {
  const { user, isOne } = place;
  const where = whereOf(place);
  const text = wordsOf(error);
  const refused = (message: string, isUnset = false): NoConnection =>
    new NoConnection(message, { cause: error, isPassing: !isOne, isUnset });
  const state = sqlState(error);
  if (
    /password must be a (?:non-empty )?string/u.test(text) ||
    (state === WRONG_PASSWORD && !place.hasPassword)
  )
    return refused(
      `the database at ${where} asks for a password of user ${user}: set PGPASSWORD or --database-password-file`,
      true,
    );
  if (state === WRONG_PASSWORD)
    return refused(
      `the database at ${where} refuses user ${user}: wrong password (PGPASSWORD or --database-password-file)`,
    );
  if (/does not support SSL/u.test(text))
    return refused(
      `the database at ${where} does not offer TLS, without which it cannot be used (PGSSLMODE)`,
    );
  if (isOfName(error))
    return refused(
      `the certificate of the database at ${where} is for another name: give --database the host that is in it (${text.trim()})`,
    );
  if (isOfCertificate(error))
    return refused(`the certificate of the database at ${where} is not trusted: ${text} (PGSSLROOTCERT)`);
  if (isTransient(error) && !isOfPool(text))
    return new NoConnection(`the database cannot be reached: ${where}: ${text}`, { cause: error });
  return state === null ? error : refused(`the database at ${where} refuses user ${user}: ${text}`);
}

/** The oldest that the tests of the database were run on. */
const OLDEST_TRIED = 15;

/** @param version As the server numbers itself: 180004 is 18.4. Throws `failed_precondition`. */
export function requireTried(version: number, place: Pick<ConnectionPlace, "host" | "port">): void {
  if (version >= OLDEST_TRIED * 10_000) return;
  const name = `${Math.floor(version / 10_000)}.${version % 10_000}`;
  throw new SheafError(
    "failed_precondition",
    `the database at ${whereOf(place)} is PostgreSQL ${name}, and Sheaf needs ${OLDEST_TRIED} or later: nothing older was tried`,
  );
}

function whereOf({ host, port }: Pick<ConnectionPlace, "host" | "port">): string {
  return host.startsWith("/") ? host : `${host}:${port}`;
}

/** What a start ends with: one line that says what is wrong. Other errors stay as they are. */
export function problemAtStart(error: unknown): unknown {
  if (isForbidden(error)) {
    const words = `the user of the database lacks rights that this server needs: ${wordsOf(error)}; give it those of its role`;
    return new SheafError("failed_precondition", words, { cause: error });
  }
  if (!(error instanceof SheafError) || !(error.cause instanceof NoConnection)) return error;
  const { isUnset, message } = error.cause;
  return new SheafError(isUnset ? "invalid_argument" : "unavailable", message, { cause: error });
}

/** Has each problem in the log once, until connections can be had again. */
export class ConnectionProblems {
  readonly #log: EngineLog;
  #told: string | null = null;

  constructor(log: EngineLog) {
    this.#log = log;
  }

  tell({ message, isPassing }: NoConnection): void {
    if (message === this.#told) return;
    this.#told = message;
    this.#log({ level: isPassing ? "warn" : "error", message });
  }

  connected(): void {
    if (this.#told === null) return;
    this.#told = null;
    this.#log({ level: "info", message: "the database can be reached again" });
  }
}

/** An error of several addresses has no message of its own. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}

/** All connections are in use. */
function isOfPool(text: string): boolean {
  return text === "timeout exceeded when trying to connect";
}

/** The certificate is good, and the host was called by a name that is not in it. */
function isOfName(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_TLS_CERT_ALTNAME_INVALID";
}

function isOfCertificate(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /CERT|^UNABLE_TO_|^ERR_TLS_/u.test(code);
}

/**
 * The one place that decides whether a request may go on: first who it is (401), then what it may do and whose
 * things it may touch (403). A tenant outside the key is refused whether it exists or not.
 */
import type { IncomingHttpHeaders } from "node:http";
import { SheafError } from "@sheaf/protocol";
import { type KeyStore, keyNotValid } from "./key-store.ts";
import { type MaybePromise, andThen } from "../request/maybe-promise.ts";
import { ANONYMOUS, type Principal, type Scope } from "./principal.ts";
import { readToken } from "./token.ts";

/** Every route declares both; a route without them cannot be registered. */
export interface RouteAccess {
  /** `public` needs no key, `any` a valid key of whatever scope. */
  readonly scope: Scope | "public" | "any";
  /**
   * Whose things the route touches: `path` = the `:tenant` (and `:database`) of its path, `located` = of the names that
   * its `locate` finds behind the path, `unbound` = everybody's, for keys bound to no tenant only, `none` = nobody's.
   */
  readonly tenant: "path" | "located" | "unbound" | "none";
}

export type PathParams = Readonly<Record<string, string>>;

/** `null`: auth is off. */
export type Authentication = KeyStore | null;

/** The caller of a request; throws 401. Public routes have no caller to ask for. */
export function authenticate(
  headers: IncomingHttpHeaders,
  access: RouteAccess,
  keys: Authentication,
): MaybePromise<Principal> {
  if (keys === null || access.scope === "public") return ANONYMOUS;
  const token = readToken(headers);
  if (token === null) {
    throw new SheafError(
      "unauthenticated",
      "an API key is required: send it as x-service-token, x-chroma-token or Authorization: Bearer",
    );
  }
  return andThen(keys.find(token), (principal) => {
    if (principal === null) throw keyNotValid();
    return principal;
  });
}

/** Throws 403 unless the caller may use the route on the things its path names. */
export function authorize(principal: Principal, access: RouteAccess, params: PathParams): void {
  const { scope } = access;
  if (scope === "public") return;
  if (scope !== "any" && !principal.scopes.has(scope)) throw denied(`the API key lacks the scope "${scope}"`);
  if (access.tenant === "unbound" && principal.tenant !== null) {
    throw denied("the API key is bound to one tenant");
  }
  if (access.tenant === "path") checkPath(principal, access, params);
}

function checkPath(principal: Principal, access: RouteAccess, params: PathParams): void {
  if (principal.tenant !== null && principal.tenant !== params["tenant"]) {
    throw denied("the API key is bound to another tenant");
  }
  if (principal.database === null) return;
  const database = params["database"];
  // Above the databases a bound key may look, and nothing else.
  const allowed = database === undefined ? access.scope === "read" : database === principal.database;
  if (!allowed) throw denied("the API key is bound to another database");
}

function denied(message: string): SheafError {
  return new SheafError("permission_denied", message);
}

/**
 * Who a request speaks for. Made only by a `KeyStore` (or by `ANONYMOUS` where auth is off) and read only by
 * `authorize` and the few handlers that describe the caller.
 */

import { KEY_SCOPES, type KeyLimits, type KeyScope } from "@sheaf/protocol";

export type Scope = KeyScope;

export const ALL_SCOPES: readonly Scope[] = KEY_SCOPES;

export interface Principal {
  /** Id of the key, safe to log and to show; never the key itself. Empty where auth is off. */
  readonly id: string;
  /** The only tenant it may touch; `null`: all, and the tenants themselves. */
  readonly tenant: string | null;
  /** The only database of that tenant; `null`: all. */
  readonly database: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Bounds of its own; without them the server's hold. */
  readonly limits?: KeyLimits;
  /** Milliseconds since 1970 until which it may be used. */
  readonly expires?: number | null;
}

/** The caller of a server without auth: everything is allowed. */
export const ANONYMOUS: Principal = Object.freeze({
  id: "",
  tenant: null,
  database: null,
  scopes: new Set(ALL_SCOPES),
});

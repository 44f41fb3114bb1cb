/** What a client is made with, and a request without a method of its own. */
import type { MembersOf } from "./require-known.ts";
import { CALL, type CallOptions, type ClientRequest, TRANSPORT, type TransportOptions } from "./transport.ts";

export interface SheafClientOptions extends TransportOptions {
  /** `default_tenant` if omitted. */
  readonly tenant?: string | undefined;
  /** `default_database` if omitted. */
  readonly database?: string | undefined;
}

export type ScopeParams = Pick<SheafClientOptions, "tenant" | "database">;

/** A request that has no method of its own. */
export interface RequestParams extends ClientRequest, CallOptions {}

export const SCOPE: MembersOf<ScopeParams> = { tenant: true, database: true };
export const CLIENT_OPTIONS: MembersOf<SheafClientOptions> = { ...TRANSPORT, ...SCOPE };
export const REQUEST: MembersOf<RequestParams> = {
  method: true,
  path: true,
  json: true,
  body: true,
  headers: true,
  repeatable: true,
  text: true,
  ...CALL,
};

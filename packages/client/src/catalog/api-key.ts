/** API keys: what the server says of one, and what it is told to make, replace or end one. */
import { type MembersOf, requireKnown } from "../require-known.ts";
import { CALL, type CallOptions } from "../transport.ts";

export type KeyScope = "embed" | "read" | "write" | "admin";

/** Left out or `null`: those of the server. 0: none. */
export interface KeyLimits {
  readonly requestsPerMinute?: number | null | undefined;
  readonly tokensPerMinute?: number | null | undefined;
  readonly concurrentRequests?: number | null | undefined;
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** The only tenant that the key may touch; `null`: every one. */
  readonly tenant: string | null;
  readonly database: string | null;
  readonly scopes: readonly KeyScope[];
  readonly limits: Required<KeyLimits>;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** To within a minute or so. */
  readonly lastUsedAt: Date | null;
  /** Id of the key that it was rotated into. */
  readonly replacedBy: string | null;
}

/** With the key itself, which no other answer shows. */
export interface IssuedKey extends ApiKey {
  readonly key: string;
}

export interface CreateKeyParams extends CallOptions {
  readonly name: string;
  /** `null`: a key for every tenant. */
  readonly tenant: string | null;
  /** Only beside a tenant. */
  readonly database?: string | undefined;
  readonly scopes: readonly KeyScope[];
  readonly limits?: KeyLimits | undefined;
  readonly expiresAt?: Date | undefined;
}

export interface RotateKeyParams extends CallOptions {
  readonly id: string;
  /** How long the old key goes on. */
  readonly overlapSeconds?: number | undefined;
  /** End of the new key; that of the old one if omitted. */
  readonly expiresAt?: Date | undefined;
}

export const CREATE_KEY: MembersOf<CreateKeyParams> = {
  name: true,
  tenant: true,
  database: true,
  scopes: true,
  limits: true,
  expiresAt: true,
  ...CALL,
};
export const ROTATE_KEY: MembersOf<RotateKeyParams> = {
  id: true,
  overlapSeconds: true,
  expiresAt: true,
  ...CALL,
};
const KEY_LIMITS: MembersOf<KeyLimits> = {
  requestsPerMinute: true,
  tokensPerMinute: true,
  concurrentRequests: true,
};

/** As the server sends it. */
export interface KeyReply {
  readonly id: string;
  readonly name: string;
  readonly tenant: string | null;
  readonly database: string | null;
  readonly scopes: readonly KeyScope[];
  readonly limits: Readonly<
    Record<"requests_per_minute" | "tokens_per_minute" | "concurrent_requests", number | null>
  >;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly replaced_by: string | null;
  readonly key?: string;
}

export function apiKey({ id, name, tenant, database, scopes, limits, ...reply }: KeyReply): ApiKey {
  return {
    ...{ id, name, tenant, database, scopes },
    limits: {
      requestsPerMinute: limits.requests_per_minute,
      tokensPerMinute: limits.tokens_per_minute,
      concurrentRequests: limits.concurrent_requests,
    },
    createdAt: new Date(reply.created_at),
    expiresAt: dateOf(reply.expires_at),
    lastUsedAt: dateOf(reply.last_used_at),
    replacedBy: reply.replaced_by,
  };
}

export function issuedKey(reply: KeyReply & { readonly key: string }): IssuedKey {
  return { ...apiKey(reply), key: reply.key };
}

export function keyBody({ name, tenant, database, scopes, limits, expiresAt }: CreateKeyParams): object {
  const known = requireKnown(limits ?? {}, KEY_LIMITS, "params.limits");
  return {
    ...{ name, tenant, database, scopes, expires_at: expiresAt?.toISOString() },
    limits: {
      requests_per_minute: known.requestsPerMinute,
      tokens_per_minute: known.tokensPerMinute,
      concurrent_requests: known.concurrentRequests,
    },
  };
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

/**
 * From a token to its principal. The root key is one store; keys made later are another, and `firstOf` asks one after
 * the other. A store compares in constant time and keeps digests, never tokens.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { ALL_SCOPES, type Principal } from "./principal.ts";

export interface KeyStore {
  /** `null`: not a key of this store. */
  find(token: string): Promise<Principal | null>;
}

/** The one key that may do everything and is bound to no tenant. */
export function createRootKeyStore(rootKey: string): KeyStore {
  const expected = digest(rootKey);
  const principal: Principal = Object.freeze({
    id: "root",
    tenant: null,
    database: null,
    scopes: new Set(ALL_SCOPES),
  });
  return {
    find: (token) => Promise.resolve(timingSafeEqual(digest(token), expected) ? principal : null),
  };
}

/** Asks the stores in order; the first that knows the token answers. */
export function firstOf(...stores: readonly KeyStore[]): KeyStore {
  return {
    async find(token) {
      for (const store of stores) {
        const principal = await store.find(token);
        if (principal !== null) return principal;
      }
      return null;
    },
  };
}

/** SHA-256: equal lengths, so that a comparison can take equal time. Keys are random, so no slower hash is needed. */
export function digest(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

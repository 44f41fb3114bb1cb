/**
 * From a token to its principal. The root key is one store; keys made later are another, and `firstOf` asks one after
 * the other. A store compares in constant time and keeps digests, never tokens.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { SheafError } from "@sheaf/protocol";
import { type MaybePromise, andThen } from "../request/maybe-promise.ts";
import { ALL_SCOPES, type Principal } from "./principal.ts";

export interface KeyStore {
  /** `null`: not a key of this store. */
  find(token: string): MaybePromise<Principal | null>;
}

/** Of a key that no store knows, or knows no more. */
export function keyNotValid(): SheafError {
  return new SheafError("unauthenticated", "the API key is not valid");
}

export const ROOT_KEY_ID = "root";

/** The one key that may do everything and is bound to no tenant. */
export function createRootKeyStore(rootKey: string): KeyStore {
  const expected = Buffer.from(hexDigest(rootKey));
  const offered = Buffer.alloc(expected.length);
  const principal: Principal = Object.freeze({
    id: ROOT_KEY_ID,
    tenant: null,
    database: null,
    scopes: new Set(ALL_SCOPES),
  });
  return {
    find(token) {
      offered.write(hexDigest(token));
      return timingSafeEqual(offered, expected) ? principal : null;
    },
  };
}

/** Asks the stores in order; the first that knows the token answers. */
export function firstOf(...stores: readonly KeyStore[]): KeyStore {
  const findFrom = (index: number, token: string): MaybePromise<Principal | null> => {
    const store = stores[index];
    if (store === undefined) return null;
    return andThen(store.find(token), (principal) => principal ?? findFrom(index + 1, token));
  };
  return { find: (token) => findFrom(0, token) };
}

/** SHA-256: equal lengths, so that a comparison can take equal time. Keys are random, so no slower hash is needed. */
export function digest(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

/** The same as text, which is made in half the time. */
export function hexDigest(token: string): string {
  return hash("sha256", token, "hex");
}

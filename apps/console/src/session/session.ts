/**
 * Who is signed in. The key is in the session storage of this tab and in the header of requests, and nowhere else: not in an
 * address, and not in what the page logs.
 */
import { type CurrentKey, type KeyScope, type ScopeParams, SheafClient } from "@sheaf/client";

export interface Session {
  /** `null`: the server asks for none. */
  readonly key: string | null;
  readonly current: CurrentKey;
}

const STORED = "sheaf.key";

/** The API is one folder above the console, whatever stands before both. */
export const API_URL = new URL("..", `${location.origin}${location.pathname}`).href.replace(/\/$/u, "");

export function clientOf({ key }: Pick<Session, "key">, scope: ScopeParams = {}): SheafClient {
  return new SheafClient({ url: API_URL, ...(key !== null && { key }), ...scope, retries: 1 });
}

/** Throws what the server says of the key. */
export async function signIn(key: string | null): Promise<Session> {
  const current = await clientOf({ key }).currentKey();
  if (key !== null) sessionStorage.setItem(STORED, key);
  return { key, current };
}

export function storedKey(): string | null {
  return sessionStorage.getItem(STORED);
}

export function forgetKey(): void {
  sessionStorage.removeItem(STORED);
}

export function signOut(): void {
  forgetKey();
  location.hash = "";
  location.reload();
}

/** Whether the key may do it: what it may not is not offered. */
export function may({ current }: Session, scope: KeyScope): boolean {
  return current.scopes.includes(scope);
}

/** It may touch every tenant, and what is the server's. */
export function isRoot({ current }: Session): boolean {
  return current.tenant === null && current.scopes.includes("admin");
}

/** The root key of a server that already listens: until the key is read or made, requests get 503. */
import { SheafError } from "@sheaf/protocol";
import { type KeyStore, createRootKeyStore } from "./key-store.ts";
import type { Principal } from "./principal.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";

export class RootKeySlot implements KeyStore {
  #store: KeyStore | null = null;

  set(rootKey: string): void {
    this.#store = createRootKeyStore(rootKey);
  }

  find(token: string): MaybePromise<Principal | null> {
    if (this.#store === null) throw new SheafError("unavailable", "the server is starting; try again");
    return this.#store.find(token);
  }
}

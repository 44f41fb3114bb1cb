/**
 * The keys that were made beside the root key. All of them are held here, so that a request costs no call of the
 * engine; the gateway owns the data folder alone, so nothing changes them behind its back. What an acknowledged call
 * changes is changed here too, before its caller hears of it, and requests in flight of a key that ends are told. After a
 * change whose outcome is unknown, because the engine died over it say, the keys are read again before the next one is
 * looked up.
 */
import { timingSafeEqual } from "node:crypto";
import type { DatabaseRef, Engine, KeyReplacement, ListBatch, ListPage, StoredKey } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";
import type { ActivityLedger } from "./activity-ledger.ts";
import { type Method, intercept } from "../request/intercept.ts";
import type { EngineSource } from "../request/engine-source.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import { type KeyStore, digest } from "./key-store.ts";
import { isMadeKey } from "./make-key.ts";
import type { Principal } from "./principal.ts";

export interface MadeKeyStoreOptions {
  readonly engine: EngineSource;
  readonly ledger: ActivityLedger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Hears of the keys that are gone, or may expire earlier now than before, and when: by id. */
  readonly onEnd: (ends: ReadonlyMap<string, number>) => void;
}

interface Entry {
  readonly digest: Buffer;
  readonly key: StoredKey;
  readonly principal: Principal;
}

/** Digests are spread evenly, so the start of one finds the only candidate; the whole is compared in constant time. */
const BUCKET_BYTES = 8;
/** Of a key that is gone. */
const AT_ONCE = Number.NEGATIVE_INFINITY;

export class MadeKeyStore implements KeyStore {
  readonly #options: MadeKeyStoreOptions;
  /** By bucket. */
  readonly #entries = new Map<string, Entry>();
  /** `#entries` are what the engine has. */
  #isKnown = false;
  #reading: Promise<void> | null = null;
  /** Of the keys, so far: what was read across one may lack it. */
  #changes = 0;

  constructor(options: MadeKeyStoreOptions) {
    this.#options = options;
  }

  /** 503 while the keys cannot be read. */
  find(token: string): MaybePromise<Principal | null> {
    if (!isMadeKey(token)) return null;
    return this.#isKnown ? this.#lookUp(token) : this.#known().then(() => this.#lookUp(token));
  }

  /** The engine, with its changes of keys made here as well. */
  watch(engine: Engine): Engine {
    const changes: Readonly<Record<string, (method: Method) => Method>> = {
      createKey: (method) => (key) => this.#changing(method(key), () => this.#put(key as StoredKey)),
      rotateKey: (method) => (id, replacement) =>
        this.#changing(method(id, replacement), (made) => {
          this.#expire(id as string, (replacement as KeyReplacement).oldExpires);
          this.#put(made as StoredKey);
        }),
      deleteKey: (method) => (id) => this.#removing(method(id), (key) => key.id === id),
      deleteTenant: (method) => (name) => this.#removing(method(name), ({ tenant }) => tenant === name),
      deleteDatabase: (method) => (ref) => {
        const { tenant, database } = ref as DatabaseRef;
        return this.#removing(method(ref), (key) => key.tenant === tenant && key.database === database);
      },
      reset: (method) => () => this.#removing(method(), () => true),
    };
    return intercept(engine, (name, method) => changes[name]?.(method) ?? method);
  }

  #lookUp(token: string): Principal | null {
    const wanted = digest(token);
    const entry = this.#entries.get(bucketOf(wanted));
    if (entry === undefined || !timingSafeEqual(entry.digest, wanted)) return null;
    const { id, expires } = entry.key;
    if (expires !== null && expires <= this.#options.now()) return null;
    this.#options.ledger.keyUsed(id);
    return entry.principal;
  }

  async #changing(call: unknown, apply: (result: unknown) => void): Promise<unknown> {
    try {
      const result = await call;
      this.#changes++;
      apply(result);
      return result;
    } catch (error) {
      this.#changes++;
      this.#isKnown = false;
      throw error;
    }
  }

  /** What is not there is as gone as what has just been removed. */
  #removing(call: unknown, isGone: (key: StoredKey) => boolean): Promise<unknown> {
    const remove = (): void => {
      const ends = new Map<string, number>();
      for (const { key } of this.#entries.values()) if (isGone(key)) ends.set(this.#remove(key), AT_ONCE);
      this.#options.onEnd(ends);
    };
    const removed = Promise.resolve(call).catch((error: unknown) => {
      if (error instanceof SheafError && error.code === "not_found") remove();
      throw error;
    });
    return this.#changing(removed, remove);
  }

  #put(key: StoredKey): void {
    const bytes = Buffer.from(key.digest, "hex");
    this.#entries.set(bucketOf(bytes), { digest: bytes, key, principal: toPrincipal(key) });
  }

  #expire(id: string, at: number): void {
    for (const { key } of this.#entries.values()) {
      if (key.id !== id || (key.expires !== null && key.expires <= at)) continue;
      this.#put({ ...key, expires: at });
      this.#options.onEnd(new Map([[id, at]]));
    }
  }

  /** Returns its id. */
  #remove({ id, digest: text }: StoredKey): string {
    this.#entries.delete(bucketOf(Buffer.from(text, "hex")));
    return id;
  }

  async #known(): Promise<void> {
    while (!this.#isKnown) {
      this.#reading ??= this.#read().finally(() => (this.#reading = null));
      await this.#reading;
    }
  }

  async #read(): Promise<void> {
    const changes = this.#changes;
    const keys = await this.#listAll();
    if (changes !== this.#changes) return;
    const before = new Map([...this.#entries.values()].map(({ key }) => [key.id, key]));
    this.#entries.clear();
    const ends = new Map<string, number>();
    for (const key of keys) {
      const { id, expires } = key;
      this.#put(key);
      if (expires !== null && before.has(id)) ends.set(id, expires);
      before.delete(id);
    }
    this.#isKnown = true;
    for (const id of before.keys()) ends.set(id, AT_ONCE);
    this.#options.onEnd(ends);
  }

  async #listAll(): Promise<readonly StoredKey[]> {
    const keys: StoredKey[] = [];
    for (let page: ListPage | null = { limit: null, offset: 0 }; page !== null;) {
      const { items, next }: ListBatch<StoredKey> = await this.#options.engine().listKeys(page);
      for (const key of items) keys.push(key);
      page = next === null ? null : { limit: null, offset: 0, after: next };
    }
    return keys;
  }
}

function bucketOf(bytes: Buffer): string {
  return bytes.toString("hex", 0, BUCKET_BYTES);
}

function toPrincipal({ id, tenant, database, scopes, limits, expires }: StoredKey): Principal {
  return Object.freeze({ id, tenant, database, scopes: new Set(scopes), limits, expires });
}

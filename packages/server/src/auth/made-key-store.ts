/**
 * The keys that were made beside the root key. All of them are held here, so that a request costs no call of the
 * engine; the gateway owns the data folder alone, so nothing changes them behind its back. After every change the
 * whole table is read again before the next key is looked up: a change whose outcome is unknown, because the engine
 * died over it, cannot leave a removed key working.
 */
import { timingSafeEqual } from "node:crypto";
import type { Engine, StoredKey } from "@sheaf/engine";
import type { ActivityLedger } from "./activity-ledger.ts";
import { intercept } from "../request/intercept.ts";
import type { EngineSource } from "../request/engine-source.ts";
import { type KeyStore, digest } from "./key-store.ts";
import { isMadeKey } from "./make-key.ts";
import type { Principal } from "./principal.ts";

export interface MadeKeyStoreOptions {
  readonly engine: EngineSource;
  readonly ledger: ActivityLedger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Entry {
  readonly digest: Buffer;
  readonly key: StoredKey;
  readonly principal: Principal;
}

type Table = ReadonlyMap<string, Entry>;

/** Digests are spread evenly, so the start of one finds the only candidate; the whole is compared in constant time. */
const BUCKET_BYTES = 8;
/** Calls of the engine that may change which keys there are. */
const CHANGERS: ReadonlySet<string> = new Set<keyof Engine>([
  "createKey",
  "rotateKey",
  "deleteKey",
  "deleteTenant",
  "deleteDatabase",
  "reset",
]);

export class MadeKeyStore implements KeyStore {
  readonly #options: MadeKeyStoreOptions;
  #table: Promise<Table> | null = null;

  constructor(options: MadeKeyStoreOptions) {
    this.#options = options;
  }

  /** 503 while the keys cannot be read. */
  async find(token: string): Promise<Principal | null> {
    if (!isMadeKey(token)) return null;
    const wanted = digest(token);
    const entry = (await this.#read()).get(bucketOf(wanted));
    if (entry === undefined || !timingSafeEqual(entry.digest, wanted)) return null;
    const { id, expires } = entry.key;
    if (expires !== null && expires <= this.#options.now()) return null;
    this.#options.ledger.keyUsed(id);
    return entry.principal;
  }

  /** The engine, with the keys read again after each call that may have changed them. */
  watch(engine: Engine): Engine {
    return intercept(engine, (name, method) =>
      CHANGERS.has(name) ? (...args) => this.#changing(() => method(...args)) : method,
    );
  }

  async #changing(call: () => unknown): Promise<unknown> {
    try {
      return await call();
    } finally {
      this.#table = null;
    }
  }

  #read(): Promise<Table> {
    if (this.#table !== null) return this.#table;
    const table = this.#load();
    this.#table = table;
    table.catch(() => {
      if (this.#table === table) this.#table = null;
    });
    return table;
  }

  async #load(): Promise<Table> {
    const keys = await this.#options.engine().listKeys();
    return new Map(
      keys.map((key) => {
        const bytes = Buffer.from(key.digest, "hex");
        return [bucketOf(bytes), { digest: bytes, key, principal: toPrincipal(key) }];
      }),
    );
  }
}

function bucketOf(bytes: Buffer): string {
  return bytes.toString("hex", 0, BUCKET_BYTES);
}

function toPrincipal({ id, tenant, database, scopes, limits }: StoredKey): Principal {
  return Object.freeze({ id, tenant, database, scopes: new Set(scopes), limits });
}

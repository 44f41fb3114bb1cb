/**
 * API keys and what tenants have used today, beside the rest of the catalog. A key is kept as a digest: whoever reads
 * the store cannot speak with it. Keys go with the tenant or database they are bound to, so that nobody inherits
 * access by making a tenant of the same name. Beside its record, each key has entries that lead to it by digest, age and
 * tenant, and all are counted, so that nothing but a list looks at more keys than it is about.
 */
import { LIMITS, SheafError } from "@sheaf/protocol";
import type {
  Activity,
  DatabaseRef,
  KeyReplacement,
  ListBatch,
  ListPage,
  StoredKey,
  TokenUsage,
} from "../engine.ts";
import { entriesInSteps } from "../storage/lmdb/entries-in-steps.ts";
import type { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import {
  decodeCounter,
  decodeKey,
  decodeTokenUsage,
  encodeCounter,
  encodeKey,
  encodeTokenUsage,
} from "./catalog-codec.ts";
import {
  ALL_KEYS,
  ALL_KEYS_BY_AGE,
  ALL_TOKEN_USAGE,
  KEY_COUNT_KEY,
  apiKeyKey,
  keyByAge,
  keyByDigest,
  keyByTenant,
  keysOfTenant,
  nameBehind,
  tokenUsageKey,
} from "./catalog-keys.ts";
import { readBatch } from "./list-batch.ts";

/** Who a key may be bound to; both throw 404. */
export interface KeyOwners {
  tenant(name: string): unknown;
  database(ref: DatabaseRef): unknown;
}

/** About as many are read for a key in a list. */
const KEY_BYTES = 256;

export class KeyCatalog {
  readonly #environment: LmdbEnvironment;
  readonly #owners: KeyOwners;

  constructor(environment: LmdbEnvironment, owners: KeyOwners) {
    this.#environment = environment;
    this.#owners = owners;
  }

  /** The oldest first. */
  list(page: ListPage): ListBatch<StoredKey> {
    return readBatch(this.#environment, ALL_KEYS_BY_AGE, page, ({ key, value }) => ({
      item: this.#behind(value),
      bytes: key.length + KEY_BYTES,
    }));
  }

  /** `null`: no key has this digest, in hexadecimal. */
  findByDigest(digest: string): StoredKey | null {
    const id = this.#environment.get(keyByDigest(digest));
    return id === null ? null : this.#find(textOf(id));
  }

  /** Each key has what leads to it; not so in a folder of a version that did not have it. */
  get isIndexed(): boolean {
    return this.#environment.get(KEY_COUNT_KEY) !== null;
  }

  /** Only inside a transaction. */
  *indexAll(): Generator<void, void> {
    const all = yield* entriesInSteps(this.#environment, ALL_KEYS);
    for (const { key, value } of all) {
      this.#putIndexes(decodeKey(value, this.#environment.origin(key)));
      yield;
    }
    this.#setCount(all.length);
  }

  /** 404 for a tenant or database that is not there, 422 when there are too many keys. */
  create(key: StoredKey): Promise<void> {
    return this.#environment.transact(() => {
      const { tenant, database } = key;
      if (tenant !== null) this.#owners.tenant(tenant);
      if (tenant !== null && database !== null) this.#owners.database({ tenant, database });
      this.#add(key);
    });
  }

  /**
   * Puts a new key beside an old one, which ends when told to. 404 for an unknown key, 409 for one that was rotated
   * before, 412 for one that has expired.
   */
  rotate(id: string, { oldExpires, ...replacement }: KeyReplacement): Promise<StoredKey> {
    return this.#environment.transact(() => {
      const old = this.#require(id);
      if (old.replacedBy !== null) {
        throw new SheafError(
          "already_exists",
          `API key [${id}] was rotated into [${old.replacedBy}] already`,
        );
      }
      if (old.expires !== null && old.expires <= replacement.created) {
        throw new SheafError("failed_precondition", `API key [${id}] has expired; create a new one`);
      }
      const key = { ...old, ...replacement, expires: replacement.expires ?? old.expires, lastUsed: null };
      this.#add(key);
      this.#put({ ...old, expires: Math.min(old.expires ?? Infinity, oldExpires), replacedBy: key.id });
      return key;
    });
  }

  delete(id: string): Promise<void> {
    return this.#environment.transact(() => {
      this.#remove(this.#require(id));
    });
  }

  /** What is about things that are gone is dropped. */
  record({ lastUsed, tokens }: Activity): Promise<void> {
    return this.#environment.transact(() => {
      for (const { id, at } of lastUsed) {
        const key = this.#find(id);
        if (key !== null) this.#put({ ...key, lastUsed: Math.max(key.lastUsed ?? 0, at) });
      }
      for (const usage of tokens) this.#environment.put(tokenUsageKey(usage.tenant), encodeTokenUsage(usage));
    });
  }

  tokenUsage(): readonly TokenUsage[] {
    return this.#environment.entries(ALL_TOKEN_USAGE).map(({ key, value }) => ({
      tenant: nameBehind(key, ALL_TOKEN_USAGE.start.length),
      ...decodeTokenUsage(value, this.#environment.origin(key)),
    }));
  }

  /** Only inside a transaction: takes the keys of a tenant away, or those of one of its databases. */
  *removeBoundTo(tenant: string, database: string | null): Generator<void, void> {
    for (const { value } of yield* entriesInSteps(this.#environment, keysOfTenant(tenant))) {
      const key = this.#behind(value);
      if (database === null || key.database === database) this.#remove(key);
      yield;
    }
    if (database === null) this.#environment.remove(tokenUsageKey(tenant));
  }

  #add(key: StoredKey): void {
    const count = this.#count();
    if (count >= LIMITS.keys) {
      throw new SheafError("unprocessable", `Quota exceeded: there are ${LIMITS.keys} API keys already`);
    }
    this.#put(key);
    this.#putIndexes(key);
    this.#setCount(count + 1);
  }

  #remove({ id, digest, created, tenant }: StoredKey): void {
    this.#environment.remove(apiKeyKey(id));
    this.#environment.remove(keyByDigest(digest));
    this.#environment.remove(keyByAge(created, id));
    if (tenant !== null) this.#environment.remove(keyByTenant(tenant, id));
    this.#setCount(this.#count() - 1);
  }

  #putIndexes({ id, digest, created, tenant }: StoredKey): void {
    const bytes = Buffer.from(id);
    this.#environment.put(keyByDigest(digest), bytes);
    this.#environment.put(keyByAge(created, id), bytes);
    if (tenant !== null) this.#environment.put(keyByTenant(tenant, id), bytes);
  }

  /** Without an entry of the count there is no key. */
  #count(): number {
    const value = this.#environment.get(KEY_COUNT_KEY);
    return value === null ? 0 : decodeCounter(value, this.#environment.origin(KEY_COUNT_KEY));
  }

  #setCount(count: number): void {
    this.#environment.put(KEY_COUNT_KEY, encodeCounter(count));
  }

  #put(key: StoredKey): void {
    this.#environment.put(apiKeyKey(key.id), encodeKey(key));
  }

  #find(id: string): StoredKey | null {
    const key = apiKeyKey(id);
    const value = this.#environment.get(key);
    return value === null ? null : decodeKey(value, this.#environment.origin(key));
  }

  /** Of an entry that leads to a key. */
  #behind(value: Uint8Array): StoredKey {
    const id = textOf(value);
    const key = this.#find(id);
    if (key === null) throw new SheafError("internal", `the catalog lacks API key ${id}`);
    return key;
  }

  #require(id: string): StoredKey {
    const key = this.#find(id);
    if (key === null) throw new SheafError("not_found", `API key [${id}] not found`);
    return key;
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

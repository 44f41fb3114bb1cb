/**
 * API keys and what tenants have used today, beside the rest of the catalog. A key is kept as a digest: whoever reads
 * the store cannot speak with it. Keys go with the tenant or database they are bound to, so that nobody inherits
 * access by making a tenant of the same name.
 */
import { LIMITS, SheafError } from "@sheaf/protocol";
import type { Activity, DatabaseRef, KeyReplacement, StoredKey, TokenUsage } from "../engine.ts";
import { entriesInSteps } from "../storage/lmdb/entries-in-steps.ts";
import type { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { decodeKey, decodeTokenUsage, encodeKey, encodeTokenUsage } from "./catalog-codec.ts";
import { ALL_KEYS, ALL_TOKEN_USAGE, apiKeyKey, nameBehind, tokenUsageKey } from "./catalog-keys.ts";

/** Who a key may be bound to; both throw 404. */
export interface KeyOwners {
  tenant(name: string): unknown;
  database(ref: DatabaseRef): unknown;
}

export class KeyCatalog {
  readonly #environment: LmdbEnvironment;
  readonly #owners: KeyOwners;

  constructor(environment: LmdbEnvironment, owners: KeyOwners) {
    this.#environment = environment;
    this.#owners = owners;
  }

  /** In no particular order. */
  all(): readonly StoredKey[] {
    return this.#environment
      .entries(ALL_KEYS)
      .map(({ key, value }) => decodeKey(value, this.#environment.origin(key)));
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
      this.#require(id);
      this.#environment.remove(apiKeyKey(id));
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

  /**
   * Only inside a transaction: takes the keys of a tenant away, or those of one of its databases. All keys are looked
   * through, in steps, for those of one owner lie among those of all others.
   */
  *removeBoundTo(tenant: string, database: string | null): Generator<void, void> {
    for (const { key, value } of yield* entriesInSteps(this.#environment, ALL_KEYS)) {
      const { id, ...bound } = decodeKey(value, this.#environment.origin(key));
      if (bound.tenant === tenant && (database === null || bound.database === database)) {
        this.#environment.remove(apiKeyKey(id));
      }
      yield;
    }
    if (database === null) this.#environment.remove(tokenUsageKey(tenant));
  }

  #add(key: StoredKey): void {
    if (this.#environment.count(ALL_KEYS) >= LIMITS.keys) {
      throw new SheafError("unprocessable", `Quota exceeded: there are ${LIMITS.keys} API keys already`);
    }
    this.#put(key);
  }

  #put(key: StoredKey): void {
    this.#environment.put(apiKeyKey(key.id), encodeKey(key));
  }

  #find(id: string): StoredKey | null {
    const key = apiKeyKey(id);
    const value = this.#environment.get(key);
    return value === null ? null : decodeKey(value, this.#environment.origin(key));
  }

  #require(id: string): StoredKey {
    const key = this.#find(id);
    if (key === null) throw new SheafError("not_found", `API key [${id}] not found`);
    return key;
  }
}

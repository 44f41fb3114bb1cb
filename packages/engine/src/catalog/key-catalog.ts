/**
 * API keys and what tenants have used today, beside the rest of the catalog. A key is kept as a digest: whoever reads
 * the store cannot speak with it. Keys go with the tenant or database they are bound to, so that nobody inherits
 * access by making a tenant of the same name. Beside its record, each key has entries that lead to it by digest, age and
 * tenant, and all are counted, so that nothing but a list looks at more keys than it is about.
 */
import { takeSlice } from "@sheaf/process";
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type {
  Activity,
  DatabaseRef,
  KeyReplacement,
  ListBatch,
  ListPage,
  StoredKey,
  TokenUsage,
} from "../engine.ts";
import type { CatalogEntry, CatalogStore, CatalogView } from "../storage/catalog/catalog-store.ts";
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
import { type CatalogTransaction, allEntries } from "./catalog-transaction.ts";
import type { CatalogTransactions } from "./catalog-transactions.ts";
import { absentDatabase, findDatabase } from "./database-entries.ts";
import { type ListedItem, readBatch } from "./list-batch.ts";
import { requireTenant } from "./tenant-entries.ts";

/** About as many are read for a key in a list. */
const KEY_BYTES = 256;

export class KeyCatalog {
  readonly #store: CatalogStore;
  readonly #transactions: CatalogTransactions;
  readonly #most: number;

  /** @param most Keys that there may be; 0: any number. */
  constructor(store: CatalogStore, transactions: CatalogTransactions, most: number) {
    this.#store = store;
    this.#transactions = transactions;
    this.#most = most;
  }

  /** The oldest first. */
  list(page: ListPage): Promise<ListBatch<StoredKey>> {
    return readBatch(this.#store, ALL_KEYS_BY_AGE, page, (entries) => readListed(this.#store, entries));
  }

  /** One for each digest, in hexadecimal; `null`: no key has it. */
  async findByDigests(digests: readonly string[]): Promise<readonly (StoredKey | null)[]> {
    const leading = digests.map(keyByDigest);
    const ids = await this.#store.getAll(leading);
    const found = ids.flatMap((value, i) => (value === null ? [] : [{ key: leading[i]!, value }]));
    const listed = (await readListed(this.#store, found)).values();
    return ids.map((id) => (id === null ? null : (listed.next().value?.item ?? null)));
  }

  /** Each key has what leads to it; not so in a folder of a version that did not have it. */
  async isIndexed(): Promise<boolean> {
    return (await this.#store.get(KEY_COUNT_KEY)) !== null;
  }

  /** Makes what leads to keys. */
  indexAll(): Promise<void> {
    return this.#transactions.transact(async (transaction) => {
      const all = await transaction.entriesOf(ALL_KEYS);
      for (const { key, value } of all) {
        putIndexes(transaction, decodeKey(value, transaction.origin(key)));
        await takeSlice("");
      }
      setCount(transaction, all.length);
    });
  }

  /** 404 for a tenant or database that is not there, 422 when there are too many keys. */
  create(key: StoredKey, caller?: CancelSignal): Promise<void> {
    return this.#transactions.transact(async (transaction) => {
      const { tenant, database } = key;
      if (tenant !== null) await requireTenant(transaction, tenant);
      if (tenant !== null && database !== null) await requireDatabase(transaction, { tenant, database });
      await this.#add(transaction, key);
    }, caller);
  }

  /**
   * Puts a new key beside an old one, which ends when told to. 404 for an unknown key, 409 for one that was rotated
   * before, 412 for one that has expired.
   */
  rotate(
    id: string,
    { oldExpires, ...replacement }: KeyReplacement,
    caller?: CancelSignal,
  ): Promise<StoredKey> {
    return this.#transactions.transact(async (transaction) => {
      const old = await requireKey(transaction, id);
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
      await this.#add(transaction, key);
      const expires = Math.min(old.expires ?? Infinity, oldExpires);
      putKey(transaction, { ...old, expires, replacedBy: key.id });
      return key;
    }, caller);
  }

  delete(id: string, caller?: CancelSignal): Promise<void> {
    return this.#transactions.transact(async (transaction) => {
      await removeKey(transaction, await requireKey(transaction, id));
    }, caller);
  }

  /** What is about things that are gone is dropped. */
  record({ lastUsed, tokens }: Activity): Promise<void> {
    return this.#transactions.transact(async (transaction) => {
      for (const { id, at } of lastUsed) {
        const key = await findKey(transaction, id);
        if (key !== null) putKey(transaction, { ...key, lastUsed: Math.max(key.lastUsed ?? 0, at) });
      }
      for (const usage of tokens) transaction.put(tokenUsageKey(usage.tenant), encodeTokenUsage(usage));
    });
  }

  async tokenUsage(): Promise<readonly TokenUsage[]> {
    return (await allEntries(this.#store, ALL_TOKEN_USAGE)).map(({ key, value }) => ({
      tenant: nameBehind(key, ALL_TOKEN_USAGE.start.length),
      ...decodeTokenUsage(value, this.#store.origin(key)),
    }));
  }

  async #add(transaction: CatalogTransaction, key: StoredKey): Promise<void> {
    const count = await countKeys(transaction);
    if (this.#most !== 0 && count >= this.#most) {
      throw new SheafError("unprocessable", `Quota exceeded: there are ${this.#most} API keys already`);
    }
    putKey(transaction, key);
    putIndexes(transaction, key);
    setCount(transaction, count + 1);
  }
}

/** The keys of a tenant, or those of one of its databases. */
export async function removeKeysBoundTo(
  transaction: CatalogTransaction,
  tenant: string,
  database: string | null,
): Promise<void> {
  for (const { key: leading, value } of await transaction.entriesOf(keysOfTenant(tenant))) {
    transaction.expect(leading, value);
    const key = await readBehind(transaction, leading, value);
    if (key !== null && (database === null || key.database === database)) await removeKey(transaction, key);
    await takeSlice("");
  }
  if (database === null) transaction.remove(tokenUsageKey(tenant));
}

async function removeKey(
  transaction: CatalogTransaction,
  { id, digest, created, tenant }: StoredKey,
): Promise<void> {
  transaction.remove(apiKeyKey(id));
  transaction.remove(keyByDigest(digest));
  transaction.remove(keyByAge(created, id));
  if (tenant !== null) transaction.remove(keyByTenant(tenant, id));
  setCount(transaction, (await countKeys(transaction)) - 1);
}

function putIndexes(transaction: CatalogTransaction, { id, digest, created, tenant }: StoredKey): void {
  const bytes = Buffer.from(id);
  transaction.put(keyByDigest(digest), bytes);
  transaction.put(keyByAge(created, id), bytes);
  if (tenant !== null) transaction.put(keyByTenant(tenant, id), bytes);
}

/** Without an entry of the count there is no key. */
async function countKeys(view: CatalogView): Promise<number> {
  const value = await view.get(KEY_COUNT_KEY);
  return value === null ? 0 : decodeCounter(value, view.origin(KEY_COUNT_KEY));
}

function setCount(transaction: CatalogTransaction, count: number): void {
  transaction.put(KEY_COUNT_KEY, encodeCounter(count));
}

function putKey(transaction: CatalogTransaction, key: StoredKey): void {
  transaction.put(apiKeyKey(key.id), encodeKey(key));
}

async function findKey(view: CatalogView, id: string): Promise<StoredKey | null> {
  const key = apiKeyKey(id);
  const value = await view.get(key);
  return value === null ? null : decodeKey(value, view.origin(key));
}

async function requireKey(view: CatalogView, id: string): Promise<StoredKey> {
  const key = await findKey(view, id);
  if (key === null) throw new SheafError("not_found", `API key [${id}] not found`);
  return key;
}

async function requireDatabase(view: CatalogView, ref: DatabaseRef): Promise<void> {
  if ((await findDatabase(view, ref)) === null) throw await absentDatabase(view, ref, "not_found");
}

/** Of an entry that leads to the key with this id; `null`: both are gone meanwhile. */
async function readBehind(
  view: CatalogView,
  leading: Uint8Array,
  idText: Uint8Array,
): Promise<StoredKey | null> {
  const id = textOf(idText);
  const key = await findKey(view, id);
  if (key === null) await requireGone(view, leading, id);
  return key;
}

async function readListed(
  view: CatalogView,
  entries: readonly CatalogEntry[],
): Promise<readonly (ListedItem<StoredKey> | null)[]> {
  const keys = entries.map(({ value }) => apiKeyKey(textOf(value)));
  const values = await view.getAll(keys);
  const listed: (ListedItem<StoredKey> | null)[] = [];
  for (const [i, { key, value }] of entries.entries()) {
    const found = values[i] ?? null;
    if (found === null) await requireGone(view, key, textOf(value));
    const bytes = key.length + KEY_BYTES;
    listed.push(found && { item: decodeKey(found, view.origin(keys[i]!)), bytes });
  }
  return listed;
}

/** A key and what leads to it go together: where that is still there, the key was lost. */
async function requireGone(view: CatalogView, leading: Uint8Array, id: string): Promise<void> {
  const now = await view.get(leading);
  if (now !== null && textOf(now) === id) throw new SheafError("internal", `the catalog lacks API key ${id}`);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

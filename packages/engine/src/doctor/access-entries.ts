/** API keys and tenants in the catalog, and whether what leads to them by digest, age, tenant and resource name is whole. */
import { decodeCounter, decodeKey, decodeTenant } from "../catalog/catalog-codec.ts";
import {
  ALL_TENANTS,
  CATALOG_PREFIX,
  keyByAge,
  keyByDigest,
  keyByTenant,
  nameBehind,
  resourceNameKey,
} from "../catalog/catalog-keys.ts";
import type { DataOrigin } from "../storage/corrupt-data-error.ts";
import { type Entry, keyName } from "../storage/entries.ts";

const LEADING: ReadonlySet<number> = new Set([
  CATALOG_PREFIX.apiKeyByDigest,
  CATALOG_PREFIX.apiKeyByAge,
  CATALOG_PREFIX.apiKeyByTenant,
  CATALOG_PREFIX.resourceName,
]);

export class AccessEntries {
  /**
   * Entries that have to be and were not seen yet, by the key's bytes as Latin-1 -> where they lead to. They come behind the
   * records that they lead to, so of a million keys all are held for a moment, some 300 MB.
   */
  readonly #expected = new Map<string, string>();
  /** Where entries lead to that nothing calls for. */
  readonly #strays: string[] = [];
  #hasLeading = false;
  #keys = 0;
  /** `null`: a folder of a version without what leads to keys. */
  #count: number | null = null;

  /** Whether the entry is one of these. Throws where it is damaged. */
  add({ key, value }: Entry, origin: DataOrigin): boolean {
    const prefix = key[0] ?? 0;
    if (LEADING.has(prefix)) this.#addLeading(key, text(value));
    else if (prefix === CATALOG_PREFIX.apiKeyCount) this.#count = decodeCounter(value, origin);
    else if (prefix === CATALOG_PREFIX.apiKey) this.#addKey(value, origin);
    else if (prefix === CATALOG_PREFIX.tenant) this.#addTenant(key, value, origin);
    else return false;
    return true;
  }

  problems(): readonly string[] {
    if (this.#count === null && !this.#hasLeading) return [];
    const problems: string[] = [];
    if ((this.#count ?? 0) !== this.#keys) {
      problems.push(`it counts ${this.#count ?? 0} API keys, and has ${this.#keys}`);
    }
    for (const to of this.#expected.values()) problems.push(`an entry that leads to ${to} is missing`);
    for (const to of this.#strays) problems.push(`an entry leads to ${to}, which it does not belong to`);
    return problems;
  }

  #addLeading(key: Uint8Array, to: string): void {
    this.#hasLeading = true;
    const name = keyName(key);
    if (this.#expected.get(name) === to) this.#expected.delete(name);
    else this.#strays.push(to);
  }

  #addKey(value: Uint8Array, origin: DataOrigin): void {
    const { id, digest, created, tenant } = decodeKey(value, origin);
    this.#keys++;
    this.#expected.set(keyName(keyByDigest(digest)), id);
    this.#expected.set(keyName(keyByAge(created, id)), id);
    if (tenant !== null) this.#expected.set(keyName(keyByTenant(tenant, id)), id);
  }

  #addTenant(key: Uint8Array, value: Uint8Array, origin: DataOrigin): void {
    const { resourceName } = decodeTenant(value, origin);
    if (resourceName === null) return;
    this.#expected.set(keyName(resourceNameKey(resourceName)), nameBehind(key, ALL_TENANTS.start.length));
  }
}

function text(value: Uint8Array): string {
  return Buffer.from(value).toString("utf8");
}

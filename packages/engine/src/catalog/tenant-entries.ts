/**
 * Tenants in the catalog, and the resource names that lead to them. Reads see the newest commit; whatever writes is to
 * be called inside `change`.
 */
import { SheafError, type Tenant } from "@sheaf/protocol";
import type { ListBatch, ListPage } from "../engine.ts";
import type { Entry, LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { decodeTenant, encodeTenant } from "./catalog-codec.ts";
import { ALL_TENANTS, nameBehind, tenantKey } from "./catalog-keys.ts";
import { readBatch } from "./list-batch.ts";
import { ResourceNames } from "./resource-names.ts";
import type { Steps } from "../storage/steps.ts";

export class TenantEntries {
  readonly #environment: LmdbEnvironment;
  readonly #resources = new ResourceNames(() => this.#all());

  constructor(environment: LmdbEnvironment) {
    this.#environment = environment;
  }

  find(name: string): Tenant | null {
    const key = tenantKey(name);
    const value = this.#environment.get(key);
    return value === null ? null : { name, ...decodeTenant(value, this.#environment.origin(key)) };
  }

  /** 404 for one that is not there. */
  require(name: string): Tenant {
    const tenant = this.find(name);
    if (tenant === null) throw new SheafError("not_found", `Tenant [${name}] not found`);
    return tenant;
  }

  /** By name. */
  list(page: ListPage): ListBatch<Tenant> {
    return readBatch(this.#environment, ALL_TENANTS, page, (entry) => ({
      item: this.#decode(entry),
      bytes: entry.key.length + entry.value.length,
    }));
  }

  #all(): readonly Tenant[] {
    return this.#environment.entries(ALL_TENANTS).map((entry) => this.#decode(entry));
  }

  #decode({ key, value }: Entry): Tenant {
    return {
      name: nameBehind(key, ALL_TENANTS.start.length),
      ...decodeTenant(value, this.#environment.origin(key)),
    };
  }

  /** The tenant with this resource name, else the one with this name; `null`: neither. */
  ofResource(resourceName: string): string | null {
    return this.#resources.tenantOf(resourceName) ?? this.find(resourceName)?.name ?? null;
  }

  /** 409 if there is one already. */
  insert(name: string): void {
    if (this.find(name) !== null) throw new SheafError("already_exists", `Tenant [${name}] already exists`);
    this.put({ name, resourceName: null });
  }

  /** 404 for one that is not there, 409 if another tenant has the resource name. */
  rename(name: string, resourceName: string): void {
    this.require(name);
    this.#resources.requireFree(resourceName, name);
    this.put({ name, resourceName });
  }

  put({ name, resourceName }: Tenant): void {
    this.#environment.put(tenantKey(name), encodeTenant({ resourceName }));
  }

  remove(name: string): void {
    this.#environment.remove(tenantKey(name));
  }

  /** A transaction that makes known resource names wrong. */
  async change<T>(change: () => Steps<T>): Promise<T> {
    try {
      return await this.#environment.transact(() => {
        this.#resources.forget();
        return change();
      });
    } finally {
      this.#resources.forget();
    }
  }
}

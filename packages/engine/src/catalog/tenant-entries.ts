/**
 * Tenants in the catalog, and the resource names that lead to them. Reads see the newest commit; whatever writes is to
 * be called inside `change`.
 */
import { SheafError, type Tenant } from "@sheaf/protocol";
import type { ListBatch, ListPage } from "../engine.ts";
import { entriesInSteps } from "../storage/lmdb/entries-in-steps.ts";
import type { Entry, LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { decodeTenant, encodeTenant } from "./catalog-codec.ts";
import { ALL_TENANTS, nameBehind, resourceNameKey, tenantKey } from "./catalog-keys.ts";
import { readBatch } from "./list-batch.ts";

export class TenantEntries {
  readonly #environment: LmdbEnvironment;

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

  #decode({ key, value }: Entry): Tenant {
    return {
      name: nameBehind(key, ALL_TENANTS.start.length),
      ...decodeTenant(value, this.#environment.origin(key)),
    };
  }

  /** The tenant with this resource name, else the one with this name; `null`: neither. */
  ofResource(resourceName: string): string | null {
    return this.#withResource(resourceName) ?? this.find(resourceName)?.name ?? null;
  }

  /** 409 if there is one already. */
  insert(name: string): void {
    if (this.find(name) !== null) throw new SheafError("already_exists", `Tenant [${name}] already exists`);
    this.put({ name, resourceName: null });
  }

  /** 404 for one that is not there, 409 if another tenant has the resource name. */
  rename(name: string, resourceName: string): void {
    const before = this.require(name);
    if ((this.#withResource(resourceName) ?? name) !== name) {
      throw new SheafError("already_exists", `Resource name [${resourceName}] already exists`);
    }
    this.#forgetResource(before);
    this.put({ name, resourceName });
  }

  put({ name, resourceName }: Tenant): void {
    this.#environment.put(tenantKey(name), encodeTenant({ resourceName }));
    if (resourceName !== null) this.#environment.put(resourceNameKey(resourceName), Buffer.from(name));
  }

  remove(name: string): void {
    this.#forgetResource(this.require(name));
    this.#environment.remove(tenantKey(name));
  }

  /** Makes what leads from resource names to tenants, in a folder of a version that did not have it. */
  *indexAll(): Generator<void, void> {
    for (const entry of yield* entriesInSteps(this.#environment, ALL_TENANTS)) {
      this.put(this.#decode(entry));
      yield;
    }
  }

  #forgetResource({ resourceName }: Tenant): void {
    if (resourceName !== null) this.#environment.remove(resourceNameKey(resourceName));
  }

  /** `null`: no tenant has this resource name. */
  #withResource(resourceName: string): string | null {
    const name = this.#environment.get(resourceNameKey(resourceName));
    return name === null ? null : Buffer.from(name).toString("utf8");
  }
}

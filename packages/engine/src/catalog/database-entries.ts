/**
 * Databases of tenants in the catalog. Reads see the newest commit; whatever writes is to be called inside a
 * transaction.
 */
import { randomUUID } from "node:crypto";
import { type Database, SheafError } from "@sheaf/protocol";
import type { DatabaseRef, ListBatch, ListPage } from "../engine.ts";
import type { Entry, LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { decodeDatabase, encodeDatabase } from "./catalog-codec.ts";
import { databaseKey, databasesOf, nameBehind } from "./catalog-keys.ts";
import { readBatch } from "./list-batch.ts";
import type { TenantCounts } from "./tenant-counts.ts";

export class DatabaseEntries {
  readonly #environment: LmdbEnvironment;
  readonly #counts: TenantCounts;

  constructor(environment: LmdbEnvironment, counts: TenantCounts) {
    this.#environment = environment;
    this.#counts = counts;
  }

  find({ tenant, database }: DatabaseRef): Database | null {
    const key = databaseKey(tenant, database);
    const value = this.#environment.get(key);
    if (value === null) return null;
    return { id: decodeDatabase(value, this.#environment.origin(key)).id, name: database, tenant };
  }

  /** By name; none for a tenant that does not exist. */
  list(tenant: string, page: ListPage): ListBatch<Database> {
    return readBatch(this.#environment, databasesOf(tenant), page, (entry) => ({
      item: this.#decode(tenant, entry),
      bytes: entry.key.length + entry.value.length,
    }));
  }

  all(tenant: string): readonly Database[] {
    return this.#environment.entries(databasesOf(tenant)).map((entry) => this.#decode(tenant, entry));
  }

  #decode(tenant: string, { key, value }: Entry): Database {
    return {
      id: decodeDatabase(value, this.#environment.origin(key)).id,
      name: nameBehind(key, databasesOf(tenant).start.length),
      tenant,
    };
  }

  /** Under a new id; 409 if there is one already, 422 if the tenant has all that it may have. */
  insert(ref: DatabaseRef): void {
    if (this.find(ref) !== null) {
      throw new SheafError("already_exists", `Database [${ref.database}] already exists`);
    }
    const { tenant, database } = ref;
    this.#counts.requireRoom("databases", tenant, () => this.#environment.count(databasesOf(tenant)));
    this.#counts.add("databases", tenant, 1);
    this.#environment.put(databaseKey(tenant, database), encodeDatabase({ id: randomUUID() }));
  }

  remove({ tenant, name }: Database): void {
    this.#counts.add("databases", tenant, -1);
    this.#environment.remove(databaseKey(tenant, name));
  }
}

/** Existing servers answer 400 to who makes a collection in it, and 404 to who asks for it. */
export function absentDatabase(
  { tenant, database }: DatabaseRef,
  code: "invalid_argument" | "not_found",
): SheafError {
  const how = `POST /api/v2/tenants/${encodeURIComponent(tenant)}/databases`;
  return new SheafError(code, `Database [${database}] not found; create it first, with ${how}`);
}

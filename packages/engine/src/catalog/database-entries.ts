/** Databases of tenants in the catalog. */
import { randomUUID } from "node:crypto";
import { type Database, SheafError } from "@sheaf/protocol";
import type { DatabaseRef, ListBatch, ListPage, ToDelete } from "../engine.ts";
import type { CatalogEntry, CatalogView } from "../storage/catalog/catalog-store.ts";
import { decodeDatabase, encodeDatabase } from "./catalog-codec.ts";
import { databaseKey, databasesOf, nameBehind } from "./catalog-keys.ts";
import { type CatalogTransaction, allEntries } from "./catalog-transaction.ts";
import { readBatch } from "./list-batch.ts";
import { findTenant } from "./tenant-entries.ts";
import type { TenantCounts } from "./tenant-counts.ts";

export async function findDatabase(
  view: CatalogView,
  { tenant, database }: DatabaseRef,
): Promise<Database | null> {
  const key = databaseKey(tenant, database);
  const value = await view.get(key);
  if (value === null) return null;
  return { id: decodeDatabase(value, view.origin(key)).id, name: database, tenant };
}

/** 404 for one that is not there. */
export async function requireDatabase(
  view: CatalogView,
  { onlyId, ...ref }: ToDelete<DatabaseRef>,
): Promise<Database> {
  const database = await findDatabase(view, ref);
  if (database === null || (onlyId !== undefined && onlyId !== database.id))
    throw new SheafError("not_found", `Database [${ref.database}] not found`);
  return database;
}

/** By name; none for a tenant that does not exist. */
export function listDatabases(
  view: CatalogView,
  tenant: string,
  page: ListPage,
): Promise<ListBatch<Database>> {
  return readBatch(view, databasesOf(tenant), page, async (entries) =>
    entries.map((entry) => ({
      item: decodeListed(view, tenant, entry),
      bytes: entry.key.length + entry.value.length,
    })),
  );
}

export async function allDatabases(view: CatalogView, tenant: string): Promise<readonly Database[]> {
  return (await allEntries(view, databasesOf(tenant))).map((entry) => decodeListed(view, tenant, entry));
}

/** Under a new id; 409 if there is one already, 422 if the tenant has all that it may have. */
export async function insertDatabase(
  transaction: CatalogTransaction,
  counts: TenantCounts,
  ref: DatabaseRef,
): Promise<void> {
  const { tenant, database } = ref;
  if ((await findDatabase(transaction, ref)) !== null) {
    throw new SheafError("already_exists", `Database [${database}] already exists`);
  }
  await counts.requireDatabase(() => transaction.count(databasesOf(tenant)));
  transaction.put(databaseKey(tenant, database), encodeDatabase({ id: randomUUID() }));
}

/** All of a tenant, until the transaction is committed. */
export async function heldDatabases(
  transaction: CatalogTransaction,
  tenant: string,
): Promise<readonly Database[]> {
  const entries = await transaction.entriesOf(databasesOf(tenant));
  return entries.map((entry) => decodeListed(transaction, tenant, entry));
}

export function removeDatabase(transaction: CatalogTransaction, { tenant, name }: Database): void {
  transaction.remove(databaseKey(tenant, name));
}

function decodeListed(view: CatalogView, tenant: string, { key, value }: CatalogEntry): Database {
  return {
    id: decodeDatabase(value, view.origin(key)).id,
    name: nameBehind(key, databasesOf(tenant).start.length),
    tenant,
  };
}

/** Existing servers answer 400 to who makes a collection in it, and 404 to who asks for it. */
export async function absentDatabase(
  view: CatalogView,
  { tenant, database }: DatabaseRef,
  code: "invalid_argument" | "not_found",
): Promise<SheafError> {
  const tenants = "POST /api/v2/tenants";
  const databases = `${tenants}/${encodeURIComponent(tenant)}/databases`;
  return (await findTenant(view, tenant)) === null
    ? new SheafError(code, `Tenant [${tenant}] not found; create it first, with ${tenants}`)
    : new SheafError(code, `Database [${database}] not found; create it first, with ${databases}`);
}

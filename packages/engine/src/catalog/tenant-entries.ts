/** Tenants in the catalog, and the resource names that lead to them. */
import { takeSlice } from "@sheaf/process";
import { SheafError, type Tenant } from "@sheaf/protocol";
import type { ListBatch, ListPage } from "../engine.ts";
import type { CatalogEntry, CatalogView } from "../storage/catalog/catalog-store.ts";
import { decodeTenant, encodeTenant } from "./catalog-codec.ts";
import { ALL_TENANTS, nameBehind, resourceNameKey, tenantKey } from "./catalog-keys.ts";
import type { CatalogTransaction } from "./catalog-transaction.ts";
import { readBatch } from "./list-batch.ts";

export async function findTenant(view: CatalogView, name: string): Promise<Tenant | null> {
  const key = tenantKey(name);
  const value = await view.get(key);
  return value === null ? null : { name, ...decodeTenant(value, view.origin(key)) };
}

/** 404 for one that is not there. */
export async function requireTenant(view: CatalogView, name: string): Promise<Tenant> {
  const tenant = await findTenant(view, name);
  if (tenant === null) throw new SheafError("not_found", `Tenant [${name}] not found`);
  return tenant;
}

/** By name. */
export function listTenants(view: CatalogView, page: ListPage): Promise<ListBatch<Tenant>> {
  return readBatch(view, ALL_TENANTS, page, async (entries) =>
    entries.map((entry) => ({
      item: decodeListed(view, entry),
      bytes: entry.key.length + entry.value.length,
    })),
  );
}

/** The tenant with this resource name, else the one with this name; `null`: neither. */
export async function tenantOfResource(view: CatalogView, resourceName: string): Promise<string | null> {
  return (await withResource(view, resourceName)) ?? (await findTenant(view, resourceName))?.name ?? null;
}

/** 409 if there is one already. */
export async function insertTenant(transaction: CatalogTransaction, name: string): Promise<void> {
  if ((await findTenant(transaction, name)) !== null)
    throw new SheafError("already_exists", `Tenant [${name}] already exists`);
  putTenant(transaction, { name, resourceName: null });
}

/** 404 for one that is not there, 409 if another tenant has the resource name. */
export async function renameTenant(
  transaction: CatalogTransaction,
  name: string,
  resourceName: string,
): Promise<void> {
  const before = await requireTenant(transaction, name);
  if (((await withResource(transaction, resourceName)) ?? name) !== name) {
    throw new SheafError("already_exists", `Resource name [${resourceName}] already exists`);
  }
  forgetResource(transaction, before);
  putTenant(transaction, { name, resourceName });
}

export function putTenant(transaction: CatalogTransaction, { name, resourceName }: Tenant): void {
  transaction.put(tenantKey(name), encodeTenant({ resourceName }));
  if (resourceName !== null) transaction.put(resourceNameKey(resourceName), Buffer.from(name));
}

export async function removeTenant(transaction: CatalogTransaction, name: string): Promise<void> {
  forgetResource(transaction, await requireTenant(transaction, name));
  transaction.remove(tenantKey(name));
}

/** Makes what leads from resource names to tenants, in a folder of a version that did not have it. */
export async function indexTenants(transaction: CatalogTransaction): Promise<void> {
  for (const entry of await transaction.entriesOf(ALL_TENANTS)) {
    putTenant(transaction, decodeListed(transaction, entry));
    await takeSlice("");
  }
}

function forgetResource(transaction: CatalogTransaction, { resourceName }: Tenant): void {
  if (resourceName !== null) transaction.remove(resourceNameKey(resourceName));
}

/** `null`: no tenant has this resource name. */
async function withResource(view: CatalogView, resourceName: string): Promise<string | null> {
  const name = await view.get(resourceNameKey(resourceName));
  return name === null ? null : Buffer.from(name).toString("utf8");
}

function decodeListed(view: CatalogView, { key, value }: CatalogEntry): Tenant {
  return { name: nameBehind(key, ALL_TENANTS.start.length), ...decodeTenant(value, view.origin(key)) };
}

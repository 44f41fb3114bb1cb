/** Copies the catalog into a backup: whole, or as what has changed since the base. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { tenantKey } from "../catalog/catalog-keys.ts";
import { keepTenant, removeKeys, shareOnly } from "../catalog/catalog-selection.ts";
import { CatalogTransactions } from "../catalog/catalog-transactions.ts";
import { type DiskReserve, createDiskSpace } from "../storage/folder/disk-space.ts";
import type { EntryWrite } from "../storage/entries.ts";
import { LmdbCatalogStore } from "../storage/lmdb/lmdb-catalog-store.ts";
import { type StoreParts, catalogOf, partsIn } from "./backed-up-collections.ts";
import type { BackupBase } from "./backup-base.ts";
import { type Backup, CATALOG, type StorePart } from "./backup-files.ts";
import { atLeastOne, changesBetween } from "./entry-changes.ts";
import { PackWriter } from "./pack-writer.ts";
import { storedEntries } from "./stored-entries.ts";

/** With more parts it is copied whole again: whoever reads it reads all of them side by side. */
const MOST_PARTS = 16;

export interface CatalogStep {
  /** Folder of the catalog that is in use. */
  readonly from: string;
  /** A folder that does not exist yet. */
  readonly staging: string;
  readonly to: string;
  /** Id of the backup. */
  readonly backup: string;
  readonly tenant: string | null;
  readonly keys: boolean;
  readonly diskReserve: DiskReserve | undefined;
}

export interface CopiedCatalog {
  readonly parts: readonly StorePart[];
  /** Where they lie. */
  readonly store: StoreParts;
  /** Ids of the collections that share environments. */
  readonly shared: readonly string[];
}

/** 404 for a tenant that is not there. In the copy every collection has an environment of its own. `base`: of the backup to add to; `null`: everything is copied. */
export async function copyCatalog(step: CatalogStep, base: BackupBase | null): Promise<CopiedCatalog> {
  const { from, staging, to, backup } = step;
  const disk = createDiskSpace(to, step);
  const live = new LmdbCatalogStore({ folder: from, disk, readOnly: true });
  try {
    await live.copyTo(staging);
  } finally {
    await live.close();
  }
  const packs = new PackWriter(to, disk);
  const chain = base?.chain ?? [];
  try {
    const shared = await selectIn(staging, step);
    const now = storedEntries({ whole: join(staging, "data.mdb"), changes: [] });
    const pack = (changes: Iterable<EntryWrite>, isWhole: boolean): StorePart => ({
      ...{ isWhole, in: backup },
      ...packs.append(changes),
    });
    const listed = partsToAddTo(chain[0], step);
    const before = (await base?.isSound(CATALOG, listed)) === true ? listed : [];
    let parts = before;
    if (before.length === 0) parts = [pack(now, true)];
    else {
      const changes = atLeastOne(changesBetween(storedEntries(catalogOf(chain)), now));
      if (changes !== null) parts = [...before, pack(changes, false)];
    }
    const links = [{ folder: to, header: { id: backup } }, ...chain];
    return { parts, shared, store: partsIn(links, CATALOG, parts) };
  } finally {
    packs.close();
    await rm(staging, { recursive: true, force: true });
  }
}

/** Takes away from a copy of the catalog what is not wanted. Ids of the collections that shared environments. */
async function selectIn(staging: string, { tenant, keys, ...step }: CatalogStep): Promise<readonly string[]> {
  const copy = new LmdbCatalogStore({ folder: staging, disk: createDiskSpace(staging, step) });
  try {
    if (tenant !== null && (await copy.get(tenantKey(tenant))) === null)
      throw new SheafError("not_found", `Tenant [${tenant}] not found`);
    return await new CatalogTransactions(copy).transact(async (transaction) => {
      if (tenant !== null) await keepTenant(transaction, tenant);
      if (!keys) removeKeys(transaction);
      return shareOnly(transaction, new Set());
    });
  } finally {
    await copy.close();
  }
}

/** Those of the base; none: all is to be copied, so that of other tenants, and of keys that are not wanted, not even names are in it. */
function partsToAddTo(base: Backup | undefined, { tenant, keys }: CatalogStep): readonly StorePart[] {
  if (base?.header.tenant !== tenant || base.header.keys !== keys) return [];
  const { catalog } = base.header;
  const [whole, ...changes] = catalog;
  const changed = changes.reduce((sum, { bytes }) => sum + bytes, 0);
  return whole === undefined || changed > whole.bytes || catalog.length >= MOST_PARTS ? [] : catalog;
}

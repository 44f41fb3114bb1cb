/** Which collections a restore makes, how much room they take, and whether there is any before the first of them is copied. */
import { SheafError } from "@sheaf/protocol";
import { tenantKey } from "../catalog/catalog-keys.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import type { BackedUpCollections, StoreParts } from "./backed-up-collections.ts";
import { storedEntries } from "./stored-entries.ts";

/** What a file takes of a disk is whole blocks, and each collection has up to three folders. */
const BLOCK_BYTES = 4_096;
const FOLDER_BYTES = 3 * BLOCK_BYTES;
/** Of the catalog: one that is worked on, with the pages that change, and the one that stays. Their pages are half full. */
const CATALOG_COPIES = 3 * 2;

export interface RoomForRestore {
  readonly collections: number;
  /** On the disk. What an archive adds is not among them. */
  readonly bytes: number;
}

/** Of a backup with the catalog of so many bytes. @param tenant The only one; `null`: all. */
export function roomForRestore(
  known: BackedUpCollections,
  catalogBytes: number,
  tenant: string | null,
): RoomForRestore {
  let bytes = CATALOG_COPIES * catalogBytes;
  let collections = 0;
  for (const { id, tenant: owner, isShared, index } of known.all()) {
    if (tenant !== null && owner !== tenant) continue;
    collections += 1;
    for (const file of [...known.listedParts(id), ...index]) bytes += blocksOf(file.bytes);
    if (!isShared) bytes += FOLDER_BYTES;
  }
  return { collections, bytes };
}

/** Entries that share files are rounded up, too: pages that hold them are not full. */
function blocksOf(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

/** Throws `storage_full` unless so much fits on the folder's disk beside what is kept free. */
export function requireRoom(dataFolder: string, bytes: number): void {
  createDiskSpace(dataFolder).claimFile(bytes).release();
}

/** 404 for a tenant that is not in the catalog of the backup. What is damaged there is found by its sum later. */
export function requireTenant(catalog: StoreParts, tenant: string): void {
  if (mayHold(catalog, tenantKey(tenant))) return;
  throw new SheafError("not_found", `Tenant [${tenant}] is not in the backup`);
}

function mayHold(catalog: StoreParts, wanted: Buffer): boolean {
  try {
    // Tenants are the first of all.
    for (const { key } of storedEntries(catalog)) {
      const order = wanted.compare(key);
      if (order <= 0) return order === 0;
    }
    return false;
  } catch {
    return true;
  }
}

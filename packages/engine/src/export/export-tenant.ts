/**
 * Writes a tenant of a backup as a folder that other programs can read and `sheaf import` makes a tenant of again:
 *
 *     manifest.jsonl            written last: what it is, then a line for each database and each collection
 *     collections/<uuid>.jsonl  the records of one, in order of insertion
 *
 * A fork is a collection like any other. An export that was interrupted goes on where it ended.
 */
import { closeSync, existsSync, openSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { BackedUpCollections, type StoreParts, catalogOf } from "../backup/backed-up-collections.ts";
import { readChain } from "../backup/backup-files.ts";
import { requireSoundRecords } from "../backup/verify-backup.ts";
import { storedEntries } from "../backup/stored-entries.ts";
import { type CollectionEntry, decodeCollection, decodeTenant } from "../catalog/catalog-codec.ts";
import { CATALOG_PREFIX, databasesOf, nameBehind, tenantKey } from "../catalog/catalog-keys.ts";
import { refuseInside } from "../storage/folder/lies-in.ts";
import { makeFolder } from "../storage/folder/make-folder.ts";
import { writeDurably } from "../storage/folder/write-durably.ts";
import { collectionDescription } from "./collection-description.ts";
import { writeRecords } from "./export-collection.ts";
import { LineFile, countLines } from "./line-file.ts";

export const EXPORT_MANIFEST = "manifest.jsonl";
const FORMAT = "sheaf-tenant";
const VERSION = 1;
/** Says which backup and tenant an export that is not finished is of. */
const SOURCE = "export.source";
const COLLECTIONS = "collections";

export interface TenantExportRequest {
  readonly backup: string;
  readonly tenant: string;
  /** A folder that does not exist, is empty, or holds this export, interrupted. */
  readonly to: string;
  /** Told now and then. */
  readonly onProgress?: (progress: TenantExportProgress) => void;
}

export interface TenantExportProgress {
  readonly collections: number;
  readonly records: number;
}

export interface ExportedTenant extends TenantExportProgress {
  readonly tenant: string;
  readonly databases: number;
  /** Collections that were damaged when the backup was made, and are not in the export. */
  readonly missing: readonly string[];
}

/** 404 for an unknown tenant, 409 where the folder holds something else, `failed_precondition` for a damaged backup. */
export async function exportTenant(request: TenantExportRequest): Promise<ExportedTenant> {
  const { backup, tenant, to, onProgress = () => {} } = request;
  const chain = await readChain(backup);
  for (const { folder } of chain) refuseInside(to, folder, "backup");
  const known = await BackedUpCollections.read(chain);
  const described = describeTenant(catalogOf(chain), tenant);
  if (described === null) throw new SheafError("not_found", `no tenant ${tenant} in ${backup}`);
  await requireSoundRecords(chain, new Set(described.collections.map(({ id }) => id)));
  const { id: backupId, started } = chain[0]!.header;
  const source = `${backupId} ${tenant}`;
  takeFolder(to, source);
  const manifest = new LineFile(join(to, EXPORT_MANIFEST), `${source} ${Date.now()}`);
  const missing: string[] = [];
  let [collections, records] = [0, 0];
  try {
    const { resourceName, databases } = described;
    const head = { format: FORMAT, version: VERSION, tenant, resource_name: resourceName };
    manifest.add(JSON.stringify({ ...head, backup: backupId, state_of: new Date(started).toISOString() }));
    for (const database of databases) manifest.add(JSON.stringify({ database }));
    for (const entry of described.collections) {
      const problem = known.find(entry.id)?.problem ?? null;
      if (problem !== null) {
        missing.push(`${entry.database}/${entry.name}: ${problem}`);
        continue;
      }
      const file = `${COLLECTIONS}/${entry.id}.jsonl`;
      const before = records;
      const tell = (written: number): void => onProgress({ collections, records: before + written });
      const count = exportOne({ backup, to: join(to, file), id: entry.id, known, source, tell });
      const { database, name, dimension } = entry;
      const line = JSON.stringify({ file, records: count, database }).slice(0, -1);
      const named = JSON.stringify({ name, dimension }).slice(0, -1);
      manifest.add(`${line},"collection":${named},${collectionDescription(entry).slice(1)}}`);
      collections += 1;
      records += count;
      onProgress({ collections, records });
    }
    manifest.finish();
  } finally {
    manifest.close();
  }
  rmSync(join(to, SOURCE));
  return { tenant, databases: described.databases.length, collections, records, missing };
}

interface OneCollection {
  readonly backup: string;
  readonly to: string;
  readonly id: string;
  readonly known: BackedUpCollections;
  readonly source: string;
  readonly tell: (records: number) => void;
}

/** How many records it has. */
function exportOne({ backup, to, id, known, source, tell }: OneCollection): number {
  if (existsSync(to)) {
    rmSync(`${to}.source`, { force: true });
    const file = openSync(to, "r");
    try {
      return countLines(file).lines;
    } finally {
      closeSync(file);
    }
  }
  const parts = known.partsOf(id);
  return writeRecords({ backup, id, parts, to, source: `${source} ${id}`, onProgress: tell }).records;
}

interface DescribedTenant {
  readonly resourceName: string | null;
  readonly databases: readonly string[];
  /** In order of creation, so that an import makes them in the same. */
  readonly collections: readonly CollectionEntry[];
}

/** As the catalog of a backup has it; `null`: it does not. */
function describeTenant(catalog: StoreParts, tenant: string): DescribedTenant | null {
  const own = tenantKey(tenant);
  const { start, end } = databasesOf(tenant);
  const databases: string[] = [];
  const collections: CollectionEntry[] = [];
  let resourceName: string | null | undefined;
  for (const { key, value } of storedEntries(catalog)) {
    const origin = { store: "catalog", key };
    if (Buffer.compare(key, own) === 0) ({ resourceName } = decodeTenant(value, origin));
    else if (Buffer.compare(key, start) >= 0 && Buffer.compare(key, end) < 0)
      databases.push(nameBehind(key, start.length));
    else if (key[0] === CATALOG_PREFIX.collection) {
      const entry = decodeCollection(value, origin);
      if (entry.tenant === tenant) collections.push(entry);
    }
  }
  if (resourceName === undefined) return null;
  return { resourceName, databases, collections: collections.toSorted((a, b) => a.created - b.created) };
}

function takeFolder(to: string, source: string): void {
  makeFolder(to);
  const mark = join(to, SOURCE);
  const isSame = existsSync(mark) && readFileSync(mark, "utf8") === source;
  if (existsSync(join(to, EXPORT_MANIFEST)))
    throw new SheafError("already_exists", `${to} holds a finished export already; choose a new folder`);
  if (!isSame && readdirSync(to).length > 0)
    throw new SheafError("already_exists", `${to} is not empty, and holds no part of this export`);
  if (!isSame) writeDurably(mark, source);
  makeFolder(join(to, COLLECTIONS));
}

/**
 * Writes what can still be read of a collection as JSON lines, one record each, in the order of insertion. Reads pages without
 * LMDB's locks, so a folder that a server uses is refused: its pages change while they are read.
 */
import { closeSync, existsSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { parseUuid } from "../catalog/catalog-keys.ts";
import { recordLine } from "../export/record-line.ts";
import { runningServer } from "../host/data-lock.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { shareId } from "../storage/lmdb/shared-stores.ts";
import { sharedName } from "../storage/folder/shared-names.ts";
import { RECORD_KEYS, readOffset } from "../storage/lmdb/record-keys.ts";
import { decodeRecord } from "../storage/values/value-codec.ts";
import { examineCatalog } from "./examine-catalog.ts";
import type { KnownCollection } from "./examine-collection.ts";
import { describe } from "./finding.ts";
import { readEntries } from "./read-entries.ts";

const BUFFER_CHARACTERS = 1024 * 1024;

export interface SalvageRequest {
  readonly dataFolder: string;
  /** Of a collection: its id, or its name in that tenant and database. */
  readonly collection: string;
  readonly tenant: string;
  readonly database: string;
  /** A file that is not there yet. */
  readonly to: string;
}

export interface Salvaged {
  readonly usedBy: null;
  readonly id: string;
  readonly records: number;
  /** What kept others from being read. */
  readonly problems: readonly string[];
}

/** Nothing was read, and no file made. */
export interface FolderInUse {
  /** Which process uses the folder. */
  readonly usedBy: string;
}

/** 404 for a collection without files, 409 where the file exists; the error of the system where it cannot be created. */
export function salvage(request: SalvageRequest): Salvaged | FolderInUse {
  const folder = new DataFolder(request.dataFolder);
  const usedBy = runningServer(folder.lockFile);
  if (usedBy !== null) return { usedBy };
  const id = findCollection(folder, request);
  const place = placeOf(folder, id);
  if (place === null) throw new SheafError("not_found", `there is nothing in the files of ${id}`);
  const file = createFile(request.to);
  const problems: string[] = [];
  let records = 0;
  let text = "";
  try {
    const pages = readEntries(place.file, ({ key: full, value }) => {
      if (!place.prefix.equals(full.subarray(0, place.prefix.length))) return;
      const key = full.subarray(place.prefix.length);
      if (key[0] !== RECORD_KEYS.afterIds[0]) return;
      const origin = { store: place.store, key: full };
      try {
        text += `${recordLine(decodeRecord(value, readOffset(key, origin), { origin }))}\n`;
        records += 1;
      } catch (error) {
        problems.push(describe(error));
      }
      if (text.length < BUFFER_CHARACTERS) return;
      writeFileSync(file, text);
      text = "";
    });
    writeFileSync(file, text);
    return { usedBy: null, id, records, problems: [...pages, ...problems] };
  } finally {
    closeSync(file);
  }
}

interface Place {
  readonly file: string;
  readonly store: string;
  /** What each key begins with. */
  readonly prefix: Buffer;
}

/** Its own file, else that in which it may have a share. `null`: there is neither. */
function placeOf(folder: DataFolder, id: string): Place | null {
  const own = { file: folder.collectionFile(id), store: collectionName(id), prefix: Buffer.alloc(0) };
  if (folder.collectionBytes(id) > 0) return own;
  const store = sharedName(id);
  const shared = { file: join(folder.path, store, "data.mdb"), store, prefix: Buffer.from(shareId(id)) };
  return existsSync(shared.file) ? shared : null;
}

/** Whether a shared environment has entries of it. */
function hasShare(folder: DataFolder, id: string): boolean {
  const place = placeOf(folder, id);
  let found = false;
  if (place !== null)
    readEntries(place.file, ({ key }) => {
      found ||= place.prefix.equals(key.subarray(0, place.prefix.length));
    });
  return found;
}

function createFile(path: string): number {
  try {
    return openSync(path, "wx");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new SheafError("already_exists", `${path}: the file exists already; choose a new name`, {
      cause: error,
    });
  }
}

/** By name as the catalog has it; an id needs no catalog. */
function findCollection(
  folder: DataFolder,
  { dataFolder, collection, tenant, database }: SalvageRequest,
): string {
  const asId = collection.toLowerCase();
  for (const id of folder.collectionIds()) if (id === asId) return id;
  if (parseUuid(asId) !== null && hasShare(folder, asId)) return asId;
  const isIt = (known: KnownCollection): boolean =>
    known.name === collection && known.tenant === tenant && known.database === database;
  const found = examineCatalog(dataFolder).collections.find(isIt);
  if (found !== undefined) return found.id;
  throw new SheafError("not_found", `no collection ${collection} in ${tenant}/${database} of ${dataFolder}`);
}

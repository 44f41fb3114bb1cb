/**
 * Writes the records of a collection in a backup as JSON lines, in order of insertion. A backup is one state of the collection
 * that stays as it is, so an export that was interrupted goes on where it ended.
 */
import { existsSync } from "node:fs";
import { SheafError } from "@sheaf/protocol";
import { BackedUpCollections, type StoreParts } from "../backup/backed-up-collections.ts";
import { type BackedUpCollection, damaged, readChain } from "../backup/backup-files.ts";
import { requireSoundRecords } from "../backup/verify-backup.ts";
import { isDiskFull } from "../storage/folder/disk-space.ts";
import { storedEntries } from "../backup/stored-entries.ts";
import { RECORD_KEYS, readOffset } from "../storage/lmdb/record-keys.ts";
import { refuseInside } from "../storage/folder/lies-in.ts";
import { writeDurably } from "../storage/folder/write-durably.ts";
import { decodeRecord } from "../storage/values/value-codec.ts";
import { backedUpEntry, collectionDescription } from "./collection-description.ts";
import { LineFile } from "./line-file.ts";
import { recordLine } from "./record-line.ts";

export interface ExportRequest {
  readonly backup: string;
  /** Of the collection: its id, or its name in that tenant and database. */
  readonly collection: string;
  readonly tenant: string;
  readonly database: string;
  /** A file that does not exist yet. What makes such a collection is written to `TO.collection.json`. */
  readonly to: string;
  /** Told now and then. */
  readonly onProgress?: (records: number) => void;
}

export interface ExportedCollection {
  readonly id: string;
  readonly records: number;
  /** Of those, how many an earlier run had written. */
  readonly resumed: number;
}

/** 404 for an unknown collection, 409 where the file exists, `failed_precondition` for a damaged backup, `invalid_argument` for a file in it. */
export async function exportCollection(request: ExportRequest): Promise<ExportedCollection> {
  const { backup, to, onProgress = () => {} } = request;
  if (existsSync(to))
    throw new SheafError("already_exists", `${to}: the file exists already; choose a new name`);
  const chain = await readChain(backup);
  for (const { folder } of chain) refuseInside(to, folder, "backup");
  const known = await BackedUpCollections.read(chain);
  const collection = find(known, request);
  await requireSoundRecords(chain, new Set([collection.id]));
  const entry = backedUpEntry(chain, collection.id);
  writeDurably(`${to}.collection.json`, `${collectionDescription(entry)}\n`);
  const source = `${chain[0]!.header.id} ${collection.id}`;
  return writeRecords({
    backup,
    to,
    onProgress,
    source,
    id: collection.id,
    parts: known.partsOf(collection.id),
  });
}

export interface WrittenRecords {
  readonly backup: string;
  /** Of the collection. */
  readonly id: string;
  /** `null`: it has no records. */
  readonly parts: StoreParts | null;
  readonly to: string;
  /** Which state of which collection: lines of another are thrown away. */
  readonly source: string;
  readonly onProgress: (records: number) => void;
}

/** A file of the records of a collection; one that was begun is gone on with. */
export function writeRecords({
  backup,
  id,
  parts,
  to,
  source,
  onProgress,
}: WrittenRecords): ExportedCollection {
  const file = new LineFile(to, source);
  let records = 0;
  try {
    for (const { key, value } of parts === null ? [] : storedEntries(parts)) {
      if (key[0] !== RECORD_KEYS.afterIds[0]) continue;
      if (records++ < file.resumed) continue;
      const origin = { store: `collection ${id}`, key };
      file.add(recordLine(decodeRecord(value, readOffset(key, origin), { origin })));
      if (records % 1_000 === 0) onProgress(records);
    }
    file.finish();
  } catch (error) {
    if (isDiskFull(error))
      throw new SheafError(
        "storage_full",
        `the disk of ${to} is full; make room and run the same export again`,
        {
          cause: error,
        },
      );
    throw error instanceof SheafError
      ? error
      : damaged(backup, error instanceof Error ? error.message : String(error));
  } finally {
    file.close();
  }
  return { id, records, resumed: file.resumed };
}

function find(
  known: BackedUpCollections,
  { collection, tenant, database, backup }: ExportRequest,
): BackedUpCollection {
  for (const one of known.all()) {
    const isNamed = one.name === collection && one.tenant === tenant && one.database === database;
    if (!isNamed && one.id !== collection.toLowerCase()) continue;
    if (one.problem === null) return one;
    throw new SheafError(
      "failed_precondition",
      `collection ${collection} was damaged when the backup was made: ${one.problem}`,
    );
  }
  throw new SheafError("not_found", `no collection ${collection} in ${tenant}/${database} of ${backup}`);
}

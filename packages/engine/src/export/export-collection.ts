/**
 * Writes the records of a collection in a backup as JSON lines, in order of insertion. A backup is one state of the collection
 * that stays as it is, so an export that was interrupted goes on where it ended.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { SheafError } from "@sheaf/protocol";
import { BackedUpCollections } from "../backup/backed-up-collections.ts";
import { type BackedUpCollection, damaged, readChain } from "../backup/backup-files.ts";
import { storedEntries } from "../backup/stored-entries.ts";
import { RECORD_KEYS, readOffset } from "../storage/lmdb/record-keys.ts";
import { writeDurably } from "../storage/folder/write-durably.ts";
import { decodeRecord } from "../storage/values/value-codec.ts";
import { collectionDescription } from "./collection-description.ts";
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

const LINE_END = 0x0a;
const BUFFER_CHARACTERS = 2 ** 20;
const READ_BYTES = 2 ** 20;

/** 404 for an unknown collection, 409 where the file exists, `failed_precondition` for a damaged backup. */
export async function exportCollection(request: ExportRequest): Promise<ExportedCollection> {
  const { backup, to, onProgress = () => {} } = request;
  if (existsSync(to))
    throw new SheafError("already_exists", `${to}: the file exists already; choose a new name`);
  const chain = await readChain(backup);
  const known = await BackedUpCollections.read(chain);
  const collection = find(known, request);
  const parts = known.partsOf(collection.id);
  const file = new LineFile(to, `${chain[0]!.header.id} ${collection.id}`);
  let records = 0;
  try {
    for (const { key, value } of parts === null ? [] : storedEntries(parts)) {
      if (key[0] !== RECORD_KEYS.afterIds[0]) continue;
      if (records++ < file.resumed) continue;
      const origin = { store: `collection ${collection.id}`, key };
      file.add(recordLine(decodeRecord(value, readOffset(key, origin), { origin })));
      if (records % 1_000 === 0) onProgress(records);
    }
    writeDurably(`${to}.collection.json`, `${collectionDescription(chain[0]!.folder, collection.id)}\n`);
    file.finish();
  } catch (error) {
    throw error instanceof SheafError
      ? error
      : damaged(backup, error instanceof Error ? error.message : String(error));
  } finally {
    file.close();
  }
  return { id: collection.id, records, resumed: file.resumed };
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

/** Lines that are written beside the file until all are there. */
class LineFile {
  /** Lines that were there already. */
  readonly resumed: number;
  readonly #to: string;
  readonly #file: number;
  #text = "";
  #position: number;

  /** @param source What is exported: lines of another are thrown away. */
  constructor(to: string, source: string) {
    this.#to = to;
    const isSame = existsSync(this.#sourceFile) && readFileSync(this.#sourceFile, "utf8") === source;
    if (!isSame) {
      rmSync(this.#part, { force: true });
      writeDurably(this.#sourceFile, source);
    }
    this.#file = openSync(this.#part, existsSync(this.#part) ? "r+" : "w+", 0o600);
    const { lines, end } = this.#wholeLines();
    ftruncateSync(this.#file, end);
    [this.resumed, this.#position] = [lines, end];
  }

  add(line: string): void {
    this.#text += `${line}\n`;
    if (this.#text.length >= BUFFER_CHARACTERS) this.#flush();
  }

  finish(): void {
    this.#flush();
    fsyncSync(this.#file);
    renameSync(this.#part, this.#to);
    rmSync(this.#sourceFile);
  }

  close(): void {
    closeSync(this.#file);
  }

  get #part(): string {
    return `${this.#to}.part`;
  }

  get #sourceFile(): string {
    return `${this.#to}.source`;
  }

  #flush(): void {
    const bytes = Buffer.from(this.#text);
    for (let from = 0; from < bytes.length;) {
      const written = writeSync(this.#file, bytes, from, bytes.length - from, this.#position);
      from += written;
      this.#position += written;
    }
    this.#text = "";
  }

  /** How many there are, and where the last one ends. */
  #wholeLines(): { readonly lines: number; readonly end: number } {
    const bytes = Buffer.allocUnsafe(READ_BYTES);
    let [lines, end] = [0, 0];
    for (let position = 0; ;) {
      const read = readSync(this.#file, bytes, 0, READ_BYTES, position);
      if (read === 0) return { lines, end };
      for (let at = bytes.indexOf(LINE_END); at >= 0 && at < read; at = bytes.indexOf(LINE_END, at + 1))
        [lines, end] = [lines + 1, position + at + 1];
      position += read;
    }
  }
}

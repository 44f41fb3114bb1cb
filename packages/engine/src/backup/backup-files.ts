/**
 * What a backup is on disk:
 *
 *     backup.json                          what it is, the sum of `collections.jsonl`, how long its packs are, and where the catalog lies
 *     backup.json.sha256                   the sum of `backup.json`, as `sha256sum -c` reads it
 *     collections.jsonl                    a line for each collection: which state of it, where its parts lie, and their sums
 *     packs/<number>                       the catalog, records of small collections, and what has changed of all, one after the other
 *     collections/<first 2 hex>/<uuid>/    `data.mdb`, the records of a collection that shares no environment, and its index
 *
 * `backup.json` is written last, so a backup is there whole or not at all. An incremental backup names its base, which names
 * its own. What a backup below has already is not stored again, and a line names the backup that has it: records, and the
 * catalog, are made of parts, a whole one and what has changed since, and each may lie in another backup of the chain.
 *
 * Format 2 had the catalog whole in each backup, as `catalog/data.mdb`. Format 1 had no packs: a line named the part of its
 * own backup alone, `data.mdb` or a file `changes`.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { SheafError } from "@sheaf/protocol";
import type { EntrySeal } from "../archive/entry-seal.ts";
import { parseUuid } from "../catalog/catalog-keys.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { openFile } from "../storage/folder/open-file.ts";
import { writeDurably } from "../storage/folder/write-durably.ts";
import type { FileSum } from "./summed-file.ts";

export const BACKUP_FORMAT_VERSION = 3;
const FORMAT = "sheaf-backup";
export const HEADER = "backup.json";
export const HEADER_SUM = "backup.json.sha256";
export const COLLECTION_LIST = "collections.jsonl";
/** As a name of what parts make, beside those of collections. */
export const CATALOG = "catalog";
export const PACKS = "packs";
/** Stands in a backup that is not complete. */
export const UNFINISHED = "unfinished";
/** Of a file of a backup, and each folder of its path. */
export const FILE_NAME = /^[\w-][\w.-]*$/u;
export const MOST_HEADER_BYTES = 2 ** 20;
/** More are a loop. */
const MOST_IN_A_CHAIN = 1_000;

export interface BackupHeader {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly started: number;
  readonly finished: number;
  /** Of the data folder. */
  readonly dataFormat: number;
  /** The only tenant in it; `null`: all. */
  readonly tenant: string | null;
  /** Whether API keys are in it, as digests. */
  readonly keys: boolean;
  /** What it adds to; `path` is from the folder of this backup. `null`: it is whole by itself. */
  readonly base: { readonly id: string; readonly path: string } | null;
  /**
   * Where an archive goes on from it: entries above `from` are needed, and with all up to `to` it is one state. `null`, or left
   * out by earlier versions: there was no archive.
   */
  readonly archive?: BackupArchive | null;
  /** What the catalog is made of. */
  readonly catalog: readonly StorePart[];
  readonly list: FileSum;
  /** Of this backup. Left out by earlier versions. */
  readonly packs?: readonly Pack[];
  readonly collections: number;
  /** Of all files of this backup. */
  readonly bytes: number;
  /** Collections that could not be copied. */
  readonly damaged: number;
  /** Collections that were copied without their index. Left out by earlier versions. */
  readonly withoutIndex?: number;
}

export interface Pack {
  readonly name: string;
  readonly bytes: number;
}

export interface BackupArchive {
  readonly chain: string;
  readonly from: number;
  readonly to: number;
  /** Of entry `to`; `null`: there is none. Left out by earlier versions. */
  readonly seal?: EntrySeal | null;
}

/** A file of an index. */
export interface IndexFile extends FileSum {
  readonly name: string;
  /** Id of the backup that has it. */
  readonly in: string;
}

/** What the records of a collection, or the catalog, are made of, one after the other. */
export interface StorePart extends FileSum {
  /** `false`: it is what has changed since the part before it. */
  readonly isWhole: boolean;
  /** Id of the backup that has it. */
  readonly in: string;
  /** `null`: it is a file of its own. */
  readonly pack: PackPlace | null;
}

/** Where a list of changes lies in a pack; of a whole part it makes all entries. */
export interface PackPlace {
  readonly name: string;
  readonly at: number;
}

export interface BackedUpCollection {
  readonly id: string;
  readonly tenant: string;
  readonly database: string;
  readonly name: string;
  /** Operations that its records hold. */
  readonly sequence: number;
  /** Is another one where they hold anything else, in a data folder that has gone on from here. Left out by earlier versions. */
  readonly state?: string | undefined;
  /** It shared an environment, and does again when it is restored. */
  readonly isShared: boolean;
  /** None: it was never written to, or could not be copied. In backups of format 1, only those of this backup. */
  readonly parts: readonly StorePart[];
  readonly index: readonly IndexFile[];
  /** Why the files of its index could not be copied; left out: they were, or there were none. */
  readonly indexProblem?: string | undefined;
  /** Why it could not be copied; `null`: it was. */
  readonly problem: string | null;
}

/** A line of format 1. */
interface CollectionOfFormat1 {
  /** `null`: as no parts. */
  readonly store: (FileSum & { readonly isWhole: boolean }) | null;
}

export interface Backup {
  readonly folder: string;
  readonly header: BackupHeader;
}

/** Makes the backup complete. */
export function writeHeader(folder: string, header: BackupHeader): void {
  const text = `${JSON.stringify({ format: FORMAT, version: BACKUP_FORMAT_VERSION, ...header }, null, 2)}\n`;
  writeDurably(join(folder, HEADER_SUM), headerSum(text));
  writeDurably(join(folder, HEADER), text);
}

export function isBackup(folder: string): boolean {
  return existsSync(join(folder, HEADER));
}

/** Throws `invalid_argument` where there is no complete backup, `failed_precondition` for one that cannot be used. */
export async function readHeader(folder: string): Promise<BackupHeader> {
  if (!isBackup(folder)) {
    throw new SheafError("invalid_argument", `${folder} is no complete backup of Sheaf: ${whyNone(folder)}`);
  }
  const text = await readSmall(folder, HEADER);
  const sum = await readSmall(folder, HEADER_SUM).catch((error: unknown) => {
    if (error instanceof SheafError) throw error;
    return "";
  });
  return parseHeader(folder, text, sum);
}

/** What `backup.json` and its sum say. Throws `failed_precondition`. */
export function parseHeader(folder: string, text: string, sum: string): BackupHeader {
  if (sum !== headerSum(text)) throw damaged(folder, `${HEADER} does not have its checksum`);
  const { format, version, catalog, ...header } = JSON.parse(text) as HeaderOfAnyFormat;
  if (format !== FORMAT || typeof version !== "number")
    throw damaged(folder, `${HEADER} describes no backup`);
  if (version > BACKUP_FORMAT_VERSION)
    throw new SheafError(
      "failed_precondition",
      `${folder} was made by a newer Sheaf (backup format ${version})`,
    );
  const parts = "sha256" in catalog ? [{ ...catalog, isWhole: true, in: header.id, pack: null }] : catalog;
  if (!parts.every((part) => isPart(part))) throw damaged(folder, `${HEADER} describes no catalog`);
  if (!(header.packs ?? []).every(({ name }) => FILE_NAME.test(name)))
    throw damaged(folder, `${HEADER} describes no packs`);
  return { ...header, catalog: parts };
}

type HeaderOfAnyFormat = Omit<BackupHeader, "catalog"> & {
  readonly format: unknown;
  readonly version: unknown;
  /** Before format 3, the sum of a file. */
  readonly catalog: readonly StorePart[] | FileSum;
};

function whyNone(folder: string): string {
  if (!existsSync(folder)) return "there is no such folder";
  if (existsSync(join(folder, UNFINISHED))) return "it was not finished";
  if (existsSync(new DataFolder(folder).formatFile))
    return `it is a data folder; make a backup of it first, with: sheaf backup NEW-FOLDER --data ${folder}`;
  return `it has no ${HEADER}`;
}

/**
 * The backup and those that it adds to, newest first; the last one is whole.
 *
 * @param read Whoever reads many chains reads each header once.
 */
export async function readChain(folder: string, read = readHeader): Promise<readonly Backup[]> {
  const chain: Backup[] = [];
  let next: string | null = resolve(folder);
  let expected: string | null = null;
  while (next !== null) {
    const header: BackupHeader = await read(next);
    if (expected !== null && header.id !== expected)
      throw damaged(next, `it is another backup than the one that ${chain.at(-1)?.folder} adds to`);
    chain.push({ folder: next, header });
    if (chain.length > MOST_IN_A_CHAIN)
      throw damaged(folder, `more than ${MOST_IN_A_CHAIN} backups add to each other`);
    expected = header.base?.id ?? null;
    next = header.base === null ? null : resolve(next, header.base.path);
  }
  return chain;
}

/**
 * In order of their ids. Its sum is not looked at. Ids and names become paths, so those that could lead elsewhere are refused:
 * whoever can write the list can write its sum.
 */
export async function* readCollections(backup: Backup): AsyncGenerator<BackedUpCollection> {
  const file = await openFile(join(backup.folder, COLLECTION_LIST));
  const lines = createInterface({ input: file.createReadStream(), crlfDelay: Infinity });
  for await (const line of lines) if (line !== "") yield parseLine(line, backup);
}

function parseLine(line: string, { folder, header }: Backup): BackedUpCollection {
  let parsed: Partial<BackedUpCollection & CollectionOfFormat1> | null = null;
  try {
    parsed = JSON.parse(line) as Partial<BackedUpCollection & CollectionOfFormat1> | null;
  } catch {
    // It is none, as below.
  }
  const { id, index, store, ...members } = parsed ?? {};
  const own = store === null || store === undefined ? [] : [{ ...store, in: header.id, pack: null }];
  const { parts = own, isShared = false } = members;
  const isOne =
    typeof id === "string" &&
    parseUuid(id) !== null &&
    Array.isArray(index) &&
    (index as readonly Partial<IndexFile>[]).every(({ name }) => FILE_NAME.test(String(name))) &&
    Array.isArray(parts) &&
    parts.every((part) => isPart(part));
  if (!isOne) throw damaged(folder, `${COLLECTION_LIST} holds a line that describes no collection`);
  return { ...members, id, index, isShared, parts } as BackedUpCollection;
}

function isPart(part: Partial<StorePart> | null): boolean {
  const isIn = (from: unknown): boolean => Number.isSafeInteger(from) && Number(from) >= 0;
  const { bytes, pack } = part ?? {};
  return isIn(bytes) && (pack === null || (FILE_NAME.test(String(pack?.name)) && isIn(pack?.at)));
}

/** Path of the file that holds a part, in the folder of the backup that has it. `name`: of the collection's folder, or `CATALOG`. */
export function partFile(folder: string, name: string, { isWhole, pack }: StorePart): string {
  if (pack !== null) return join(folder, PACKS, pack.name);
  return join(folder, name, isWhole ? "data.mdb" : "changes");
}

export function damaged(folder: string, problem: string): SheafError {
  return new SheafError("failed_precondition", `${folder} is damaged: ${problem}`);
}

/** Throws `failed_precondition` where it is no file, or one that no backup has. */
async function readSmall(folder: string, name: string): Promise<string> {
  const file = await openFile(join(folder, name));
  try {
    if ((await file.stat()).size > MOST_HEADER_BYTES) throw damaged(folder, `${name} is too large`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** As `sha256sum -c` reads it. */
function headerSum(text: string): string {
  return `${createHash("sha256").update(text).digest("hex")}  ${HEADER}\n`;
}

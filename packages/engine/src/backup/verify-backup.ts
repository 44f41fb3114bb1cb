/** Reads every file of a backup, and of those that it adds to, and compares it with its checksum. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { collectionName } from "../storage/folder/data-folder.ts";
import { errorCode } from "../storage/lmdb/commit-cause.ts";
import {
  type Backup,
  type BackupHeader,
  CATALOG_FILE,
  COLLECTION_LIST,
  readChain,
  readCollections,
  storeFile,
} from "./backup-files.ts";
import { type FileSum, sumFile } from "./summed-file.ts";

export interface VerifiedBackup {
  readonly header: BackupHeader;
  /** Backups that were read: this one, and those that it adds to. */
  readonly backups: number;
  readonly files: number;
  readonly bytes: number;
  /** What is wrong; none: it can be restored. */
  readonly problems: readonly string[];
  /** Collections that were damaged when the backup was made, and are not in it. */
  readonly missing: readonly string[];
}

export interface VerificationProgress {
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Throws `invalid_argument` where there is no complete backup, `failed_precondition` where its list cannot be used. */
export async function verifyBackup(
  folder: string,
  onProgress: (progress: VerificationProgress) => void = () => {},
): Promise<VerifiedBackup> {
  const chain = await readChain(folder);
  const totalBytes = chain.reduce((sum, { header }) => sum + header.bytes, 0);
  const problems: string[] = [];
  const missing: string[] = [];
  let files = 0;
  let bytes = 0;
  const check = async (path: string, expected: FileSum): Promise<boolean> => {
    const problem = await problemOf(path, expected);
    if (problem !== null) problems.push(`${path}: ${problem}`);
    files += 1;
    bytes += expected.bytes;
    onProgress({ bytes, totalBytes });
    return problem === null;
  };
  for (const [i, { folder: at, header }] of chain.entries()) {
    await check(join(at, CATALOG_FILE), header.catalog);
    if (!(await check(join(at, COLLECTION_LIST), header.list))) continue;
    for await (const [path, sum] of filesOf({ folder: at, header })) await check(path, sum);
    if (i > 0 || header.damaged === 0) continue;
    for await (const { tenant, database, name, problem } of readCollections(at))
      if (problem !== null) missing.push(`${tenant}/${database}/${name}: ${problem}`);
  }
  const [newest] = chain;
  return { header: newest!.header, backups: chain.length, files, bytes, problems, missing };
}

/**
 * Compares what an export reads: the newest catalog, the lists, and the records of these collections. Throws
 * `failed_precondition` with the first file that is not as it was written.
 */
export async function requireSoundRecords(chain: readonly Backup[], ids: ReadonlySet<string>): Promise<void> {
  const check = async (path: string, expected: FileSum): Promise<void> => {
    const problem = await problemOf(path, expected);
    if (problem !== null)
      throw new SheafError(
        "failed_precondition",
        `the backup is damaged, so nothing is exported: ${path}: ${problem}`,
      );
  };
  for (const [i, { folder, header }] of chain.entries()) {
    if (i === 0) await check(join(folder, CATALOG_FILE), header.catalog);
    await check(join(folder, COLLECTION_LIST), header.list);
    for await (const { id, store } of readCollections(folder)) {
      const isRead = store !== null && ids.has(id);
      if (isRead) await check(storeFile(join(folder, collectionName(id)), store), store);
    }
  }
}

/** Of collections, those that the backup itself has. */
async function* filesOf({ folder, header }: Backup): AsyncGenerator<readonly [string, FileSum]> {
  for await (const { id, store, index } of readCollections(folder)) {
    const at = join(folder, collectionName(id));
    if (store !== null) yield [storeFile(at, store), store];
    for (const file of index) if (file.in === header.id) yield [join(at, "index", file.name), file];
  }
}

/** `null`: it is as it was written. */
async function problemOf(path: string, { bytes, sha256 }: FileSum): Promise<string | null> {
  try {
    const { size } = await stat(path);
    if (size !== bytes) return `has ${size} bytes instead of ${bytes}`;
    return (await sumFile(path)).sha256 === sha256 ? null : "does not have its checksum";
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return "is missing";
    if (code === "EIO") return "cannot be read (EIO)";
    throw error;
  }
}

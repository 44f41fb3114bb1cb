/** Reads every file of a backup, and of those that it adds to, and compares it with its checksum. */
import { type FileHandle, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { collectionName } from "../storage/folder/data-folder.ts";
import { openFile } from "../storage/folder/open-file.ts";
import { errorCode } from "../storage/lmdb/commit-cause.ts";
import { BackedUpCollections, type StoreParts, catalogOf } from "./backed-up-collections.ts";
import {
  type BackedUpCollection,
  type Backup,
  type BackupHeader,
  type StorePart,
  CATALOG,
  COLLECTION_LIST,
  PACKS,
  partFile,
  readChain,
  readCollections,
} from "./backup-files.ts";
import { type FileSum, sumRange } from "./summed-file.ts";

export interface VerifiedBackup {
  readonly header: BackupHeader;
  /** Backups that were read: this one, and those that it adds to. */
  readonly backups: number;
  readonly files: number;
  readonly bytes: number;
  /** What is wrong, and with which collection; none: it can be restored. */
  readonly problems: readonly string[];
  /** Collections that were damaged when the backup was made, and are not in it. */
  readonly missing: readonly string[];
  /** Collections whose index could not be read then: a restore makes it again. */
  readonly withoutIndex: readonly string[];
  /** What to do about the problems; `null`: there are none. */
  readonly remedy: string | null;
}

export interface VerificationProgress {
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Something in it that is not as it was written. */
export interface Damage {
  /** Names the file, and the collection that needs it. */
  readonly problem: string;
  /** Whose data it has; `null`: that of all. */
  readonly of: BackedUpCollection | null;
  /** It is a file of an index, which the records can do without. */
  readonly isIndex: boolean;
  /** Nothing that was written lies there, and no restore reads it. */
  readonly isUnread?: boolean;
}

/** Without what it is in, nothing can be restored. */
export function concernsAll({ of, isUnread }: Damage): boolean {
  return of === null && isUnread !== true;
}

/** About a backup with such damage. */
export function whatToDo(damages: readonly Damage[]): string {
  if (damages.every(({ isUnread }) => isUnread === true))
    return "this backup can be restored, for it needs nothing of that; make a whole backup now";
  const others = damages.some((damage) => concernsAll(damage))
    ? ", for nothing of this one can be restored"
    : ", or what is whole in this one, with --skip-damaged, or one tenant that is, with --tenant";
  return `restore an earlier backup that does not add to the damaged one, with --archive up to the same moment${others}; make a whole backup now`;
}

/** Throws `invalid_argument` where there is no complete backup, `failed_precondition` where its list cannot be used. */
export async function verifyBackup(
  folder: string,
  onProgress: (progress: VerificationProgress) => void = () => {},
): Promise<VerifiedBackup> {
  return (await verifyChain(await readChain(folder), onProgress)).verified;
}

/** As `verifyBackup`. */
export async function verifyChain(
  chain: readonly Backup[],
  onProgress: (progress: VerificationProgress) => void = () => {},
): Promise<{ readonly verified: VerifiedBackup; readonly damages: readonly Damage[] }> {
  const totalBytes = chain.reduce((sum, { header }) => sum + header.bytes, 0);
  const damages = new Map<string, FoundDamage>();
  const [missing, withoutIndex]: [string[], string[]] = [[], []];
  const sums = new SummedFiles();
  let bytes = 0;
  const check = async (file: ExpectedFile): Promise<boolean> => {
    const found = await sums.problemOf(file);
    if (found !== null) {
      const problem = describe(file, found);
      damages.set(problem, { problem, of: file.of ?? null, isIndex: file.isIndex === true, file });
    }
    bytes += file.bytes;
    onProgress({ bytes, totalBytes });
    return found === null;
  };
  const checkEnd = async (path: string, bytes: number): Promise<void> => {
    const more = await bytesBehind(path, bytes);
    const problem = `${path}: has ${bytes + more} bytes instead of ${bytes}, and nothing needs the last ones`;
    if (more > 0) damages.set(problem, { problem, of: null, isIndex: false, isUnread: true, file: { path } });
  };
  try {
    for (const [i, backup] of chain.entries()) {
      const { folder: at, header } = backup;
      for (const part of partsIn(CATALOG, header.catalog, backup)) await check(part);
      for (const pack of header.packs ?? []) await checkEnd(join(at, PACKS, pack.name), pack.bytes);
      if (!(await check({ path: join(at, COLLECTION_LIST), ...header.list }))) continue;
      for await (const collection of readCollections(backup)) {
        const { problem, indexProblem } = collection;
        for (const file of filesOf(collection, backup)) await check(file);
        if (i === 0 && problem !== null) missing.push(lacking(collection, problem));
        if (i === 0 && indexProblem !== undefined) withoutIndex.push(lacking(collection, indexProblem));
      }
    }
  } finally {
    await sums.close();
  }
  const [newest] = chain;
  const found = await markUnneeded(chain, [...damages.values()]);
  const verified = {
    ...{ header: newest!.header, backups: chain.length, files: sums.files, bytes },
    ...{ problems: found.map(({ problem }) => problem), missing, withoutIndex },
    remedy: found.length === 0 ? null : whatToDo(found),
  };
  return { verified, damages: found };
}

interface FoundDamage extends Damage {
  readonly file: Pick<ExpectedFile, "path" | "at">;
}

/** What lies in a backup below and the newest has no use for, as where it has copied a collection again, stops no restore. */
async function markUnneeded(
  chain: readonly Backup[],
  damages: readonly FoundDamage[],
): Promise<readonly FoundDamage[]> {
  const isListed = !damages.some(({ file }) => basename(file.path) === COLLECTION_LIST);
  if (chain.length === 1 || damages.length === 0 || !isListed) return damages;
  const known = await BackedUpCollections.read(chain);
  const needed = new Set<string>();
  const need = ({ whole, changes }: StoreParts): void => {
    if (whole !== null) needed.add(placeOf({ path: whole }));
    for (const change of changes) needed.add(placeOf(change));
  };
  need(catalogOf(chain));
  for (const { id, index } of known.all()) {
    need(known.partsOf(id) ?? { whole: null, changes: [] });
    for (const file of index) needed.add(placeOf({ path: known.indexFile(id, file) }));
  }
  return damages.map((damage) => {
    if (damage.isUnread === true || needed.has(placeOf(damage.file))) return damage;
    const problem = `${damage.problem}; the newest of these backups has it elsewhere and does not need this`;
    return { ...damage, problem, isUnread: true };
  });
}

function placeOf({ path, at = 0 }: FoundDamage["file"]): string {
  return `${at} ${path}`;
}

/**
 * Compares what an export reads: the newest catalog, the lists, and the records of these collections. Throws
 * `failed_precondition` with the first file that is not as it was written.
 */
export async function requireSoundRecords(chain: readonly Backup[], ids: ReadonlySet<string>): Promise<void> {
  const sums = new SummedFiles();
  const check = async (file: ExpectedFile): Promise<void> => {
    const problem = await sums.problemOf(file);
    if (problem !== null)
      throw new SheafError(
        "failed_precondition",
        `the backup is damaged, so nothing is exported: ${describe(file, problem)}`,
      );
  };
  try {
    for (const backup of chain) {
      const { folder, header } = backup;
      for (const part of partsIn(CATALOG, chain[0]?.header.catalog ?? [], backup)) await check(part);
      await check({ path: join(folder, COLLECTION_LIST), ...header.list });
      for await (const collection of readCollections(backup))
        if (ids.has(collection.id)) for (const part of recordsIn(collection, backup)) await check(part);
    }
  } finally {
    await sums.close();
  }
}

/** What is not as it was written, with its path; `null`: it is. */
export async function problemOf(file: ExpectedFile): Promise<string | null> {
  const sums = new SummedFiles();
  try {
    const problem = await sums.problemOf(file);
    return problem === null ? null : `${file.path}: ${problem}`;
  } finally {
    await sums.close();
  }
}

export interface ExpectedFile extends FileSum {
  readonly path: string;
  /** Where the bytes lie in it; left out: they are all of it. */
  readonly at?: number | undefined;
  /** Whose data it has; left out: that of all. */
  readonly of?: BackedUpCollection | undefined;
  readonly isIndex?: boolean;
}

/** Of a collection that is not there, and why. */
export function lacking({ tenant, database, name }: BackedUpCollection, why: string): string {
  return `${tenant}/${database}/${name}: ${why}`;
}

function describe({ path, of }: ExpectedFile, problem: string): string {
  if (of === undefined) {
    const what = basename(path) === COLLECTION_LIST ? "list of collections" : "catalog";
    return `${path}: ${problem}; it is the ${what}, which every restore needs`;
  }
  const { tenant, database, name, id } = of;
  return `${path}: ${problem}; collection ${name} (${tenant}/${database}, ${id}) needs it`;
}

/** Of a collection, those that the backup itself has. */
function* filesOf(collection: BackedUpCollection, backup: Backup): Generator<ExpectedFile> {
  yield* recordsIn(collection, backup);
  const folder = join(backup.folder, collectionName(collection.id), "index");
  for (const { name, in: holder, bytes, sha256 } of collection.index)
    if (holder === backup.header.id)
      yield { path: join(folder, name), bytes, sha256, of: collection, isIndex: true };
}

function recordsIn(of: BackedUpCollection, backup: Backup): Generator<ExpectedFile> {
  return partsIn(collectionName(of.id), of.parts, backup, of);
}

/** `name` as of `partFile`. */
function* partsIn(
  name: string,
  parts: readonly StorePart[],
  { folder, header }: Backup,
  of?: BackedUpCollection,
): Generator<ExpectedFile> {
  for (const part of parts) {
    const { bytes, sha256, pack } = part;
    const path = partFile(folder, name, part);
    if (part.in === header.id) yield { path, at: pack?.at, bytes, sha256, of };
  }
}

/** That a file has beyond so many. What it lacks is found where it is read. */
async function bytesBehind(path: string, bytes: number): Promise<number> {
  const found = await stat(path).catch(() => null);
  return Math.max(0, (found?.size ?? 0) - bytes);
}

/** Compares files and parts of files with their sums; the one that was read last stays open, for a pack has many parts. */
class SummedFiles {
  /** That were opened. */
  files = 0;
  #open: { readonly path: string; readonly file: FileHandle } | null = null;

  /** `null`: it is as it was written. */
  async problemOf({ path, at, bytes, sha256 }: ExpectedFile): Promise<string | null> {
    try {
      const file = await this.#at(path);
      const size = at === undefined ? (await file.stat()).size : bytes;
      if (size !== bytes) return `has ${size} bytes instead of ${bytes}`;
      const sum = await sumRange(file, { at: at ?? 0, bytes });
      if (sum.bytes < bytes) return "ends too early";
      if (sum.sha256 === sha256) return null;
      return at === undefined
        ? "does not have its checksum"
        : `what lies at byte ${at} does not have its checksum`;
    } catch (error) {
      if (error instanceof SheafError) return "is no file";
      const code = errorCode(error);
      if (code === "ENOENT") return "is missing";
      if (code === "EIO") return "cannot be read (EIO)";
      throw error;
    }
  }

  async close(): Promise<void> {
    const file = this.#open?.file;
    this.#open = null;
    await file?.close();
  }

  async #at(path: string): Promise<FileHandle> {
    if (this.#open?.path !== path) {
      await this.close();
      this.files += 1;
      this.#open = { path, file: await openFile(path) };
    }
    return this.#open.file;
  }
}

/**
 * The archive of an engine (opt-in): every batch of every collection and every commit of the catalog, in one log. A write is
 * acknowledged when both its commit and its entry are on disk.
 *
 * Records are archived behind their commit: what a killed process had committed and not archived is archived when the
 * collection is opened next, which its mark in the catalog leads to. The catalog is archived before its commit: the last
 * entry of a killed process is compared with the catalog, and voided where it is not there.
 */
import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { SheafError } from "@sheaf/protocol";
import type { EngineStatistics } from "../engine.ts";
import type { CatalogCommit } from "../storage/catalog/catalog-store.ts";
import type { RecordStore, RemovedRecord, StoreChange } from "../storage/record-store.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import {
  type BaseBody,
  CHANGE_FORM,
  type ChangeBody,
  encodeBase,
  encodeCatalog,
  encodeChange,
  encodePosition,
} from "./archive-entries.ts";
import { ENTRY_KIND, listSegments } from "./archive-format.ts";
import { lockArchive } from "./archive-lock.ts";
import { ArchiveLog, type ArchiveLogOptions } from "./archive-log.ts";
import { type ArchiveMark, readMark, removeMark, writeMark } from "./archive-mark.ts";
import { type LastCommits, findBase, lastEntries } from "./last-entries.ts";
import { removeOldSegments } from "./remove-old-segments.ts";

export interface ArchiveSettings {
  readonly folder: string;
  /** What is older is removed, as far as no backup needs it that is needed itself. */
  readonly keepMs: number;
  /** After which the next segment begins. */
  readonly segmentBytes?: number;
}

export type ArchiveMeasure = Pick<
  EngineStatistics,
  "archivePosition" | "archiveLagSeconds" | "archiveBytes" | "archiveFailing" | "archiveBackupMissing"
>;

export const NO_ARCHIVE: ArchiveMeasure = {
  ...{ archivePosition: 0, archiveLagSeconds: 0, archiveBytes: 0, archiveFailing: 0 },
  archiveBackupMissing: 0,
};

/** One batch on its way. */
export interface Archiving {
  /**
   * At once when the batch is committed; resolves when its entry is on disk. Rejects with `unavailable` where that cannot be
   * written: the batch is stored, and archived later unless the data folder is lost before.
   */
  append(from: number, change: StoreChange): Promise<void>;
  /** It failed, or was appended. */
  end(): void;
}

/** Of the records in one entry of an image. */
const IMAGE_BYTES = 4 * 2 ** 20;
const IMAGE_RECORDS = 1_024;

export class Archive {
  readonly #settings: ArchiveSettings;
  readonly #log: ArchiveLog;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #bases: BaseBody[] = [];
  /** Operation up to which an entry that may not be on disk yet catches up, in order of these entries. */
  readonly #catchingUp = new Map<string, { readonly to: number; readonly position: number }>();
  /** Position of the catalog commit under way. */
  #undecided: number | null = null;
  /** Of before the start; `null`: the chain is new. */
  readonly #commits: LastCommits | null;
  readonly #renew: (why: string) => void;
  readonly #unlock: () => void;
  readonly #dataFolder: string;
  readonly #onProblem: (error: unknown) => void;
  #chain: string;
  readonly #onNews: (message: string) => void;
  /** The newest backup of all tenants that this chain goes on from. */
  #backup: LeadingBackup | null;

  private constructor(
    settings: ArchiveSettings,
    { chain, log, commits, bases, onRenewed, onNews, onProblem, unlock, dataFolder, backup }: OpenedArchive,
  ) {
    this.#dataFolder = dataFolder;
    this.#onProblem = onProblem;
    this.#onNews = onNews;
    this.#backup = backup;
    this.#unlock = unlock;
    this.#chain = chain;
    this.#renew = (why) => {
      this.#chain = randomUUID();
      this.#backup = null;
      log.renew(this.#chain);
      onRenewed(this.#chain, why);
    };
    this.#settings = settings;
    this.#log = log;
    this.#commits = commits;
    this.#bases.push(...bases);
  }

  /**
   * Goes on with the archive, or begins a new chain where the data folder was changed without it, or it is damaged.
   * `onNews`: says so.
   */
  static open(settings: ArchiveSettings, watch: ArchiveWatch): Archive {
    const unlock = lockArchive(settings.folder);
    try {
      return Archive.#open(settings, watch, unlock);
    } catch (error) {
      unlock();
      throw error;
    }
  }

  static #open(
    settings: ArchiveSettings,
    { dataFolder, onNews, onProblem, disk }: ArchiveWatch,
    unlock: () => void,
  ): Archive {
    const found = lastEntries(settings.folder);
    const known = readMark(dataFolder);
    const isSame = known !== null && known.chain === found.end.chain && found.end.problem === null;
    const chain = isSame ? known.chain : randomUUID();
    let archive: Archive | null = null;
    const log = new ArchiveLog({
      ...{ ...settings, chain, onProblem, onNews, disk, end: found.end },
      onSegment: () => archive?.removeOld(),
    });
    const onRenewed = (renewed: string, why: string): void => {
      const { position } = found.end;
      const last =
        position === 0 ? "" : ` Up to entry ${position} earlier backups can be restored to any moment.`;
      onNews(`the archive begins a new chain (${why}): make a backup to restore from.${last}`);
      writeMark(dataFolder, { chain: renewed, backup: null, from: null });
    };
    if (!isSame) onRenewed(chain, found.end.problem ?? "the data folder was changed without it, or is new");
    const { bases } = found;
    const commits = isSame ? found.commits : null;
    const last = bases.findLast((base) => base.chain === chain) ?? null;
    const backup = isSame ? (markedBackup(known, settings.folder) ?? last) : null;
    archive = new Archive(settings, {
      ...{ chain, log, bases, onRenewed, onNews, onProblem, commits, unlock, dataFolder, backup },
    });
    if (isSame && known.from === null) archive.#mark();
    archive.removeOld();
    return archive;
  }

  /** What is written to a data folder without an archive is in none. */
  static leave(dataFolder: string): void {
    removeMark(dataFolder);
  }

  get place(): { readonly chain: string; readonly folder: string } {
    return { chain: this.#chain, folder: this.#settings.folder };
  }

  get measure(): ArchiveMeasure {
    const { durable, lagMs, isFailing } = this.#log;
    return {
      archivePosition: durable,
      archiveLagSeconds: lagMs / 1_000,
      archiveBytes: bytesOf(this.#settings.folder),
      archiveFailing: Number(isFailing),
      archiveBackupMissing: Number(this.#backup === null),
    };
  }

  /** At the start. `done`: position of the newest commit that the catalog has. */
  compareCatalog(done: number): void {
    const commits = this.#commits;
    if (commits === null) return;
    const { positions, first } = commits;
    const [last = null, before = null] = positions.toReversed();
    const isWhole = last === null ? done < first : done === last;
    if (isWhole) return;
    const isLastMissing = last !== null && done < last && (before === null ? done < first : done === before);
    // Before the next commit, which is all that matters: a start does not wait for an archive that is full.
    if (isLastMissing) this.#log.append(ENTRY_KIND.void, () => encodePosition(last));
    else this.#renew("the catalog is of another time than the archive");
  }

  /** Segments that are older than the archive is kept for. What the newest backup needs may be among them. */
  removeOld(): void {
    const first = removeOldSegments(this.#settings, this.#bases);
    if (first === null || this.#backup === null || first <= this.#backup.from + 1) return;
    this.#backup = null;
    this.#onNews(
      "the archive has removed entries that the newest backup needs, for it is older than twice the time that the archive is kept for: make a backup to restore from",
    );
    this.#mark();
  }

  /** Position up to which every commit of the catalog is done or void. */
  get decided(): number {
    return this.#undecided === null ? this.#log.position : this.#undecided - 1;
  }

  /** Before a batch is written. Throws 503 or 507 while the archive cannot be written. */
  begin(collection: string): Archiving {
    this.#log.requireWorking();
    let end = (): void => {};
    const running = new Promise<void>((resolve) => (end = resolve));
    this.#inFlight.add(running);
    const finish = (): void => {
      this.#inFlight.delete(running);
      end();
    };
    return {
      append: (from, change) => {
        const isNothing = change.puts.length + change.removes.length === 0 && change.head.sequence === from;
        const durable = isNothing
          ? Promise.resolve()
          : this.#change({ ...change, collection, from, form: CHANGE_FORM.step }).catch(storedHere);
        // The write waits for its index first.
        durable.catch(() => undefined);
        finish();
        return durable;
      },
      end: finish,
    };
  }

  /**
   * Appends what a collection holds above operation `from`, which has been archived. Nothing may be written meanwhile. It is
   * not waited for, so that reads go on while the archive cannot be written: the entry comes before those of later writes, and
   * before the checkpoint that would make it needless.
   */
  catchUp(collection: string, store: RecordStore, from: number): void {
    const { head } = store;
    if (head.sequence <= Math.max(from, this.#catchingUpTo(collection))) return;
    const changes = store.changesAfter(from);
    if (changes === "trimmed")
      throw new SheafError("internal", `collection ${collection} has forgotten what is not archived`);
    const puts: StoredRecord[] = [];
    const removes: RemovedRecord[] = [];
    for (const change of changes) {
      if (change.kind === "put") puts.push(change.record);
      else if (change.kind === "remove")
        removes.push({ id: change.id, offset: 0, sequence: change.sequence });
    }
    const change = { collection, from, form: CHANGE_FORM.state, head, puts, removes };
    const { position } = this.#log.append(ENTRY_KIND.change, () => encodeChange(change));
    this.#catchingUp.delete(collection);
    this.#catchingUp.set(collection, { to: head.sequence, position });
  }

  /** One that is opened again and again while the archive is full waits there once. */
  #catchingUpTo(collection: string): number {
    for (const [id, { position }] of this.#catchingUp) {
      if (position > this.#log.durable) break;
      this.#catchingUp.delete(id);
    }
    return this.#catchingUp.get(collection)?.to ?? 0;
  }

  /** All records of a collection that the catalog does not name yet. */
  async image(collection: string, store: RecordStore): Promise<void> {
    const { head } = store;
    let [puts, bytes, part]: [StoredRecord[], number, number] = [[], 0, 0];
    if (head.sequence === 0) return;
    for (let from = 0; ;) {
      const isFull = takeRecords(store, from, (record) => {
        puts.push(record);
        bytes += 4 * record.embedding.length + (record.document?.length ?? 0);
        return bytes < IMAGE_BYTES && puts.length < IMAGE_RECORDS;
      });
      if (!isFull) break;
      from = puts.at(-1)!.offset + 1;
      await this.#change({ ...imagePart(collection, part++, puts), head: { ...head, nextOffset: from } });
      [puts, bytes] = [[], 0];
    }
    // The last one has the head as it is.
    await this.#change({ ...imagePart(collection, part, puts), head });
  }

  /** Has `commit` done, and its entry on disk before. */
  async commitCatalog(
    { clears, writes, conditions }: CatalogCommit,
    commit: (commit: CatalogCommit, position: number) => Promise<"done" | "conflict">,
  ): Promise<"done" | "conflict"> {
    this.#log.requireWorking();
    const body = { clears: [...clears], writes: [...writes] };
    const { position, durable } = this.#log.append(ENTRY_KIND.catalog, () => encodeCatalog(body));
    this.#undecided = position;
    try {
      await durable;
      const result = await commit({ conditions, ...body }, position);
      // That entry was never done.
      if (result === "conflict")
        await this.#log.append(ENTRY_KIND.void, () => encodePosition(position)).durable;
      return result;
    } catch (error) {
      this.#log.append(ENTRY_KIND.void, () => encodePosition(position));
      throw error;
    } finally {
      this.#undecided = null;
    }
  }

  /** Position of everything that was committed before this was called. */
  async settled(): Promise<number> {
    await Promise.all(this.#inFlight);
    const { position } = this.#log;
    await this.#log.flush();
    return position;
  }

  /** A backup was made: retention goes by it. */
  async noteBase(base: BaseBody): Promise<void> {
    await this.#log.append(ENTRY_KIND.base, () => encodeBase(base)).durable;
    this.#bases.push(base);
    this.#backup = base;
    this.#mark();
    // Where the disk is full, no segment ends.
    this.removeOld();
  }

  #mark(): void {
    const { id: backup = null, from = null } = this.#backup ?? {};
    try {
      writeMark(this.#dataFolder, { chain: this.#chain, backup, from });
    } catch (error) {
      // The next start finds the entry.
      this.#onProblem(error);
    }
  }

  async close(): Promise<void> {
    await this.#log.close();
    this.#unlock();
  }

  #change(change: ChangeBody): Promise<void> {
    return this.#log.append(ENTRY_KIND.change, () => encodeChange(change)).durable;
  }
}

/** Entries above `from` are needed. */
type LeadingBackup = Pick<BaseBody, "id" | "from">;

export interface ArchiveWatch extends Pick<ArchiveLogOptions, "disk" | "onProblem"> {
  readonly dataFolder: string;
  readonly onNews: (message: string) => void;
}

interface OpenedArchive {
  readonly chain: string;
  readonly log: ArchiveLog;
  readonly commits: LastCommits | null;
  readonly bases: readonly BaseBody[];
  readonly dataFolder: string;
  readonly backup: LeadingBackup | null;
  readonly onNews: (message: string) => void;
  readonly onRenewed: (chain: string, why: string) => void;
  readonly onProblem: (error: unknown) => void;
  readonly unlock: () => void;
}

/** `null` where the backup's entry is gone, too: so is what it needs. */
function markedBackup({ backup, from }: ArchiveMark, folder: string): LeadingBackup | null {
  if (backup === null) return null;
  return from === null ? findBase(folder, backup) : { id: backup, from };
}

function bytesOf(folder: string): number {
  const sizes = listSegments(folder).map(({ path }) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((all, size) => all + size, 0);
}

function imagePart(
  collection: string,
  part: number,
  puts: readonly StoredRecord[],
): Omit<ChangeBody, "head"> {
  return { collection, form: CHANGE_FORM.image, from: part, puts, removes: [] };
}

/** Whether `take` said that it is enough. */
function takeRecords(store: RecordStore, from: number, take: (record: StoredRecord) => boolean): boolean {
  for (const record of store.scan(from)) if (!take(record)) return true;
  return false;
}

/** What a write is told that is committed and cannot be archived: as where the answer was lost, nobody knows how it ends. */
function storedHere(cause: unknown): never {
  throw new SheafError(
    "unavailable",
    "the write is stored, but the archive cannot be written, so it is lost if this server's disk is: read before it is sent again",
    { cause, retryAfterSeconds: 1 },
  );
}

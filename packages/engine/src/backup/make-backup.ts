/**
 * Makes a backup while readers and writers go on. The catalog is copied first and the collections after it, so what the catalog
 * says of one is never ahead of its records. Until the end, files of collections that are dropped stay, so that everything
 * that the copied catalog names can be copied. Stores are copied one at a time, in turn with forks and purges.
 */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import type { Archive } from "../archive/archive.ts";
import { forkIndexFiles } from "../collection/fork-index-files.ts";
import type { CollectionForker } from "../collection/collection-forker.ts";
import type { DeleteBehind } from "../collection/removal/delete-behind.ts";
import type { EngineLog } from "../engine-log.ts";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { type DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { VERSION_WITHOUT_SHARES, refuseInDataFolder } from "../storage/folder/data-format.ts";
import type { SharedStores } from "../storage/lmdb/shared-stores.ts";
import { type DiskReserve, reserveElsewhere } from "../storage/folder/disk-space.ts";
import { liesIn } from "../storage/folder/lies-in.ts";
import type { ObjectStoreSettings } from "../storage/objects/object-store.ts";
import { BackupChild } from "./backup-child.ts";
import type { BaseStep } from "./backup-base.ts";
import { type Backup, type BackupHeader, readChain } from "./backup-files.ts";
import { makeSpool } from "./bucket/spool.ts";
import { clearBackup, prepareTarget } from "./backup-target.ts";
import { madeBackups, noteMadeBackup } from "./made-backups.ts";
import { namingFullDisk } from "./naming-full-disk.ts";
import { type Batch, type KnownCollection, batchesOf } from "./backup-batches.ts";
import type { CollectionToCopy, CopiedCollections } from "./backup-steps.ts";

/** So long a server that stops goes on removing what it has sent to a bucket of a backup that is not complete. */
const MS_TO_CANCEL_AT_CLOSE = 3_000;

export interface BackupRequest {
  /** A folder that does not exist yet, or is empty; a name in the bucket. */
  readonly target: string;
  /** Folder of the backup to add to, or its name in the bucket; `null`: everything is copied. */
  readonly base: string | null;
  /** Where it goes, and its base lies; in folders if left out. */
  readonly bucket?: ObjectStoreSettings | undefined;
  /** The only one to be copied; `null`: all. */
  readonly tenant: string | null;
  /** With the digests of API keys. */
  readonly keys: boolean;
}

export interface BackupProgress {
  readonly target: string;
  /** That were copied. */
  readonly collections: number;
  /** Of how many; `null`: the catalog, which says so, is not copied yet. */
  readonly totalCollections: number | null;
  /** That were written, of the collection that is being copied, too. */
  readonly bytes: number;
}

export interface MadeBackup extends Omit<BackupProgress, "totalCollections"> {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly started: number;
  /** Collections that could not be copied, as their list in the backup says. */
  readonly damaged: number;
  /** As it says, too: those of whose index a file cannot be read. Their records are there, and a restore makes it again. */
  readonly withoutIndex: number;
}

export interface BackupMakerOptions {
  readonly folder: DataFolder;
  readonly forker: Pick<CollectionForker, "alone">;
  readonly deleteBehind: Pick<DeleteBehind, "hold">;
  readonly shares: Pick<SharedStores, "forgetDeadReaders">;
  readonly diskReserve: DiskReserve | undefined;
  readonly archive: Archive | null;
  readonly log: EngineLog;
  /** Of the lock of the data folder, where there is one. */
  readonly lockFd: number | undefined;
  /** Not `null`: the folder is a cache of a database. */
  readonly logs: object | null;
}

export class BackupMaker {
  readonly #options: BackupMakerOptions;
  #running: Running | null = null;
  /** Of the one under way. */
  readonly #children = new Set<BackupChild>();
  /** Aborted some time after this was closed. */
  readonly #lastMoment = new AbortController();

  constructor(options: BackupMakerOptions) {
    this.#options = options;
  }

  /** Of the backup that is being made; `null`: none is. */
  get progress(): BackupProgress | null {
    if (this.#running === null) return null;
    const { progress, copying } = this.#running;
    return { ...progress, bytes: progress.bytes + (copying === null ? 0 : bytesIn(copying)) };
  }

  /**
   * Throws `failed_precondition` while another one is made and where a database has the records, `already_exists` for a target that
   * is not empty, `invalid_argument` for a base that is no backup and a target in a data folder, 404 without the tenant,
   * `storage_full`. Nothing is left behind then.
   */
  make(request: BackupRequest, signal: CancelSignal | undefined): Promise<MadeBackup> {
    if (this.#options.logs !== null)
      return Promise.reject(
        new SheafError("failed_precondition", "the records are in a database: make a backup of that"),
      );
    if (this.#running !== null)
      return Promise.reject(new SheafError("failed_precondition", "another backup is being made"));
    const making = this.#make(request, signal).finally(() => (this.#running = null));
    const ended = making.catch(() => undefined);
    const { target } = request;
    const progress = { target, collections: 0, totalCollections: null, bytes: 0 };
    this.#running = { progress, copying: null, ended };
    return making;
  }

  /** Ends the one under way. */
  async close(): Promise<void> {
    for (const child of this.#children) void child.close();
    const timer = setTimeout(() => this.#lastMoment.abort(), MS_TO_CANCEL_AT_CLOSE);
    await this.#running?.ended;
    clearTimeout(timer);
  }

  #make(request: BackupRequest, signal: CancelSignal | undefined): Promise<MadeBackup> {
    const { bucket } = request;
    return bucket === undefined
      ? this.#makeInFolder(request, signal)
      : this.#makeInBucket({ ...request, bucket }, signal);
  }

  /** By way of a folder for temporary files, to which what is needed of its base is fetched. */
  async #makeInBucket(request: ToBucket, signal: CancelSignal | undefined): Promise<MadeBackup> {
    const { target: name, base, bucket } = request;
    const spool = await makeSpool();
    const folder = spool.path;
    const child = this.#newChild();
    try {
      await child.ask("beginBackup", { bucket, name, base }, signal);
      if (base !== null) await child.ask("fetchHeaders", { bucket, name: base, folder }, signal);
      const inFolder = { target: join(folder, name), base: base === null ? null : join(folder, base) };
      const made = await this.#makeInFolder({ ...request, ...inFolder }, signal, () =>
        child.ask("sendBackup", { bucket, name, folder }, signal),
      );
      return { ...made, target: name };
    } catch (error) {
      await this.#end(child);
      await this.#cancelInBucket(bucket, name);
      throw error;
    } finally {
      await this.#end(child);
      await spool.remove();
    }
  }

  /** By another process: the one that was sending has ended. What is left, `removeBackup` knows. */
  async #cancelInBucket(bucket: ObjectStoreSettings, name: string): Promise<void> {
    // Not of `#children`: it goes on for a moment when this is closed.
    const child = new BackupChild(this.#options.lockFd);
    await child.ask("cancelBackup", { bucket, name }, this.#lastMoment.signal).catch(() => undefined);
    await child.close();
  }

  /** @param keep It is complete, and is to be brought to where it is kept. */
  async #makeInFolder(
    request: BackupRequest,
    signal: CancelSignal | undefined,
    keep?: () => Promise<void>,
  ): Promise<MadeBackup> {
    const target = resolve(request.target);
    if (liesIn(target, this.#options.folder.path))
      throw new SheafError(
        "invalid_argument",
        `${target} lies in the data folder, with which it would be lost; choose another`,
      );
    refuseInDataFolder(target);
    const base = request.base === null ? null : await baseOf({ ...request, base: request.base, target });
    const isOfFolder = base !== null && madeBackups(this.#options.folder.path).includes(base.header.id);
    const baseStep = base && { folder: base.folder, isOfFolder, bucket: request.bucket ?? null };
    const release = await prepareTarget(target, base);
    const { folder, deleteBehind } = this.#options;
    const releaseFolder = folder.hold();
    const releaseShares = deleteBehind.hold();
    const child = this.#newChild();
    let isCopied = false;
    const free = async (): Promise<void> => {
      if (isCopied) return;
      isCopied = true;
      await this.#end(child);
      this.#options.shares.forgetDeadReaders();
      releaseShares();
      await releaseFolder();
    };
    const kept = async (): Promise<void> => {
      // Sending takes long, and reads the copy alone.
      await free();
      await keep?.();
    };
    try {
      return await this.#copy({ request: { ...request, target }, base, baseStep, child, signal, keep: kept });
    } catch (error) {
      await child.close();
      await clearBackup(target);
      throw namingFullDisk(target, error);
    } finally {
      await free();
      release();
    }
  }

  #newChild(): BackupChild {
    const child = new BackupChild(this.#options.lockFd);
    this.#children.add(child);
    return child;
  }

  async #end(child: BackupChild): Promise<void> {
    this.#children.delete(child);
    await child.close();
  }

  async #copy(work: BackupWork): Promise<MadeBackup> {
    const { request, base, baseStep, child, signal } = work;
    const { target: to, tenant, keys } = request;
    const { folder, forker, archive } = this.#options;
    const diskReserve = this.#reserveAt(to);
    const started = Date.now();
    const id = randomUUID();
    const staging = join(to, "staging");
    const catalogStep = {
      ...{ from: folder.catalog, staging, to, tenant, keys, diskReserve },
      ...{ backup: id, base: baseStep },
    };
    // Between forks: of one under way, records are in the archive that no catalog names yet, and this one must not either.
    // Collections that are on the move arrive first.
    const {
      from,
      parts: catalog,
      store,
      shared,
      collections: totalCollections,
    } = await forker.alone(async () => ({
      from: archive?.decided ?? 0,
      ...(await child.ask("copyCatalog", catalogStep, signal)),
    }));
    const isShared = new Set(shared);
    let [collections, bytes, damaged, withoutIndex] = [0, 0, 0, 0];
    const tell = (copying: string | null): void => {
      const progress = { target: to, collections, totalCollections, bytes };
      if (this.#running !== null) this.#running = { ...this.#running, progress, copying };
    };
    tell(null);
    for (;;) {
      const known = await child.ask("listCollections", { catalog: store, from: collections }, signal);
      if (known.length === 0) break;
      for (const batch of batchesOf(known, isShared)) {
        throwIfAborted(signal);
        tell(join(to, collectionName(batch[0]!.id)));
        const copied = await forker.alone(() => this.#collections(batch, id, work));
        collections += batch.length;
        bytes += copied.bytes;
        damaged += copied.damaged;
        withoutIndex += copied.withoutIndex;
        tell(null);
      }
    }
    const until = (await archive?.settled()) ?? 0;
    const header: Omit<BackupHeader, "list" | "packs" | "finished"> = {
      archive: archive === null ? null : { chain: archive.place.chain, from, to: until },
      ...{ id, started, dataFormat: VERSION_WITHOUT_SHARES, tenant, keys },
      ...{ catalog, collections, bytes, damaged, withoutIndex },
      base: base === null ? null : { id: base.header.id, path: relative(to, base.folder) },
    };
    const last = { to, header, archive: archive?.place.folder ?? null };
    const finished = await child.ask("finishBackup", last, signal);
    ({ bytes } = finished);
    this.#tellOfBase(finished.damagedBase);
    await work.keep();
    // It is complete, whether that can be noted or not; the archive says what is wrong with it.
    const noted = tenant === null ? archive?.noteBase({ id, from, to: until, finished: Date.now() }) : null;
    await noted?.catch(() => undefined);
    noteMadeBackup(this.#options.folder.path, id);
    return { target: to, id, started, collections, bytes, damaged, withoutIndex };
  }

  #tellOfBase(problems: readonly string[]): void {
    const [first] = problems;
    if (first === undefined) return;
    const more = problems.length > 1 ? ` and ${problems.length - 1} more` : "";
    const message =
      "the base of an incremental backup is damaged, so what it has there was copied whole again: make a whole backup";
    this.#options.log({ level: "warn", message, error: `${first}${more}` });
  }

  #reserveAt(target: string): DiskReserve | undefined {
    return reserveElsewhere(this.#options.diskReserve, { data: this.#options.folder.path, other: target });
  }

  /** All at once, and where that ends the process, one by one to find out whose records did. */
  async #collections(batch: Batch, backup: string, work: BackupWork): Promise<CopiedCollections> {
    const staged = this.#options.folder.newTrash();
    const step = { from: this.#options.folder.path, to: work.request.target, backup };
    const common = { ...step, base: work.baseStep, diskReserve: this.#reserveAt(step.to) };
    const copy = (collections: readonly CollectionToCopy[]): Promise<CopiedCollections> =>
      work.child.ask("copyCollections", { ...common, collections }, work.signal);
    let [bytes, damaged, withoutIndex] = [0, 0, 0];
    try {
      const collections = await Promise.all(batch.map((known) => this.#toCopy(known, staged)));
      try {
        return await copy(collections);
      } catch (error) {
        requireUnavailable(error);
      }
      for (const collection of collections) {
        const copied = await copy([collection]).catch((error: unknown) => {
          const problem = requireUnavailable(error).message;
          return copy([{ ...collection, index: null, problem }]);
        });
        bytes += copied.bytes;
        damaged += copied.damaged;
        withoutIndex += copied.withoutIndex;
      }
      return { bytes, damaged, withoutIndex };
    } finally {
      await rm(staged, { recursive: true, force: true });
    }
  }

  async #toCopy({ isShared, ...known }: KnownCollection, staged: string): Promise<CollectionToCopy> {
    const place = this.#options.folder.collection(known.id);
    const index = await linkIndex(place, join(staged, known.id), known.lineage);
    return { known, place, isShared, index, problem: null };
  }
}

/** What reading a store fails with; everything else is thrown on. */
function requireUnavailable(error: unknown): SheafError {
  if (error instanceof SheafError && error.code === "collection_unavailable") return error;
  throw error;
}

interface Running {
  readonly progress: BackupProgress;
  /** Folder of the collection that is being copied, in the backup. */
  readonly copying: string | null;
  readonly ended: Promise<unknown>;
}

interface BackupWork {
  readonly request: BackupRequest;
  readonly base: Backup | null;
  /** Of the same. */
  readonly baseStep: BaseStep | null;
  readonly child: BackupChild;
  readonly signal: CancelSignal | undefined;
  readonly keep: () => Promise<void>;
}

type ToBucket = BackupRequest & { readonly bucket: ObjectStoreSettings };

/** So far; files may come and go meanwhile. */
function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.reduce((sum, name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return sum + (found?.isFile() === true ? found.size : 0);
  }, 0);
}

/** Gives the files of an index a second name each, so that they stay while they are copied. `null`: there are none. */
async function linkIndex(place: string, staged: string, lineage: string): Promise<string | null> {
  if (!existsSync(join(place, "index"))) return null;
  const [from, to] = [new FolderFiles(join(place, "index")), new FolderFiles(staged)];
  try {
    const isThere = await forkIndexFiles({ from, to, lineage, forkLineage: lineage }, undefined);
    return isThere ? staged : null;
  } catch {
    // It is made of the records then.
    return null;
  } finally {
    await Promise.all([from.close(), to.close()]);
  }
}

async function baseOf({ base, target, tenant }: BackupRequest & { readonly base: string }): Promise<Backup> {
  const [newest] = await readChain(base);
  if (newest === undefined || newest.folder === target)
    throw new SheafError("invalid_argument", `${base} cannot be the base of itself`);
  const { header } = newest;
  if (header.tenant !== null && header.tenant !== tenant)
    throw new SheafError("invalid_argument", `${base} holds tenant ${header.tenant} alone`);
  return newest;
}

/**
 * Files of one folder on a local disk. A file is written under a temporary name, synced, renamed, and the folder synced;
 * so it is there whole or not at all, whenever the process ends. Reads are positional and synchronous: 2 KiB that the
 * operating system has cached take 2 us, a hundredth of an asynchronous read.
 */
import { type Dirent, existsSync, readSync, rmSync, statSync } from "node:fs";
import { type FileHandle, link, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { SheafError, throwIfAborted } from "@sheaf/protocol";
import { errorCode } from "../lmdb/commit-cause.ts";
import { type DiskSpace, isDiskFull, storageFull } from "../folder/disk-space.ts";
import { NoFile, openFileItself } from "../folder/open-file.ts";
import { makeFolder } from "../folder/make-folder.ts";
import { OWNER_ONLY_FILE } from "../folder/restrict-access.ts";
import { syncFile, syncFolders } from "../folder/sync-files.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import {
  type ReadOptions,
  type SegmentFile,
  type SegmentFileWriter,
  type SegmentFiles,
  isFileName,
} from "./segment-files.ts";

/** No name of a committed file ends so. */
const UNFINISHED = /\.[0-9a-f-]{36}\.new$/;

/** Files that are looked for by their names: whatever has such a name is found, and damaged if it is no file. */
const SOUGHT = /^manifest-[0-9]+$/;

/** Damaged files that are kept, the newest: they are for a person to look at, not to fill the disk. */
const MAX_QUARANTINED = 8;

/** From file systems without links, between two of them, and for files that have too many. */
const NO_LINKS: ReadonlySet<unknown> = new Set([
  "EXDEV",
  "EPERM",
  "EMLINK",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
]);
const COPIED_BYTES = 2 ** 20;

export class FolderFiles implements SegmentFiles {
  readonly #folder: string;
  readonly #disk: Pick<DiskSpace, "claimFile"> | null;
  readonly #open = new Set<FileHandle>();

  /**
   * @param folder Made with the first file.
   * @param disk Refuses what would go into the reserve of the disk.
   */
  constructor(folder: string, disk: Pick<DiskSpace, "claimFile"> | null = null) {
    this.#folder = folder;
    this.#disk = disk;
  }

  async create(name: string): Promise<SegmentFileWriter> {
    if (!isFileName(name) || UNFINISHED.test(name))
      throw new SheafError("internal", `${name} is no name of an index file`);
    // Throws where there is no room, before anything is made.
    this.#disk?.claimFile(0).release();
    this.#make();
    const temporary = join(this.#folder, `${name}.${randomUUID()}.new`);
    try {
      const file = await open(temporary, "wx", OWNER_ONLY_FILE);
      return new FolderFileWriter({ folder: this.#folder, name, temporary, file, disk: this.#disk });
    } catch (error) {
      throw fullOr(error);
    }
  }

  async open(name: string, { signal }: ReadOptions = {}): Promise<SegmentFile | null> {
    throwIfAborted(signal);
    if (!isFileName(name)) return null;
    let file;
    try {
      file = await openFileItself(join(this.#folder, name));
    } catch (error) {
      if (errorCode(error) === "ENOENT") return null;
      if (error instanceof NoFile) throw new SegmentDamaged(name, null, "it is no file", error);
      throw damagedOr(name, error);
    }
    try {
      const { size } = await file.stat();
      return new FolderFile(name, size, { file, open: this.#open });
    } catch (error) {
      await file.close();
      throw damagedOr(name, error);
    }
  }

  /**
   * A file of another folder, under the same name: a second name for the same bytes, or a copy where the file system has no
   * such names. It is safe once the next file of this folder is committed. `false`: there is none.
   */
  async take(from: FolderFiles, name: string): Promise<boolean> {
    const source = join(from.#folder, name);
    this.#make();
    try {
      await link(source, join(this.#folder, name));
      return true;
    } catch (error) {
      const code = errorCode(error);
      if (code === "ENOENT") return false;
      if (code === "EEXIST") return true;
      if (!NO_LINKS.has(code)) throw fullOr(error);
    }
    return this.#copy(from, name);
  }

  async list(): Promise<readonly string[]> {
    return (await this.#entries()).filter((name) => isFileName(name) && !UNFINISHED.test(name)).toSorted();
  }

  async remove(name: string): Promise<void> {
    if (isFileName(name)) await removeAny(join(this.#folder, name));
  }

  /** Into the folder `quarantine`, behind the time; where that cannot be done the file is removed. */
  async quarantine(name: string): Promise<void> {
    if (!isFileName(name)) return;
    const folder = this.#quarantine;
    const time = new Date().toISOString().replaceAll(":", "-").toLowerCase();
    try {
      makeFolder(folder);
      await rename(join(this.#folder, name), join(folder, `${time}.${name}`));
    } catch {
      // On a full disk say: it must not be read again.
      return this.remove(name);
    }
    const kept = (await readdir(folder)).toSorted();
    for (const old of kept.slice(0, -MAX_QUARANTINED)) await removeAny(join(folder, old));
  }

  async isQuarantined(name: string): Promise<boolean> {
    const kept = await readdir(this.#quarantine).catch(() => []);
    return kept.some((one) => one.endsWith(`.${name}`));
  }

  async close(): Promise<void> {
    for (const file of this.#open) await file.close();
    this.#open.clear();
  }

  async removeUnfinished(): Promise<void> {
    for (const name of await this.#entries())
      if (UNFINISHED.test(name)) await removeAny(join(this.#folder, name));
  }

  get #quarantine(): string {
    return join(this.#folder, "quarantine");
  }

  /** A file that lies in its place would keep the index in memory for ever. */
  #make(): void {
    const place = statSync(this.#folder, { throwIfNoEntry: false });
    if (place?.isDirectory() === true) return;
    if (place !== undefined) rmSync(this.#folder);
    makeFolder(this.#folder);
    syncFolders(this.#folder);
  }

  async #copy(from: FolderFiles, name: string): Promise<boolean> {
    const source = await from.open(name);
    if (source === null) return false;
    const copy = await this.create(name);
    try {
      const bytes = Buffer.allocUnsafe(COPIED_BYTES);
      for (let at = 0; at < source.size; at += COPIED_BYTES) {
        const part = bytes.subarray(0, source.size - at);
        await source.read(part, at);
        await copy.write(part);
      }
      await copy.commit();
      return true;
    } finally {
      await copy.abort();
      await source.close();
    }
  }

  /** Names of files and of what lies in the place of one that is sought; none before there is a folder. */
  async #entries(): Promise<readonly string[]> {
    // A small collection has none, and is asked for several times as it opens.
    if (!existsSync(this.#folder)) return [];
    try {
      const entries = await readdir(this.#folder, { withFileTypes: true });
      const isOther = (entry: Dirent): boolean => entry.isDirectory() || entry.isSymbolicLink();
      return entries.filter((entry) => !isOther(entry) || SOUGHT.test(entry.name)).map(({ name }) => name);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }
}

/** Whatever lies in the place of a file, a folder too. */
function removeAny(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}

interface UnfinishedFile {
  readonly folder: string;
  readonly name: string;
  readonly temporary: string;
  readonly file: FileHandle;
  readonly disk: Pick<DiskSpace, "claimFile"> | null;
}

class FolderFileWriter implements SegmentFileWriter {
  readonly #target: UnfinishedFile;
  #isCommitted = false;

  constructor(target: UnfinishedFile) {
    this.#target = target;
  }

  async write(bytes: Uint8Array): Promise<void> {
    const claim = this.#target.disk?.claimFile(bytes.length);
    try {
      for (let from = 0; from < bytes.length;) {
        from += (await this.#target.file.write(bytes, from)).bytesWritten;
      }
    } catch (error) {
      throw fullOr(error);
    } finally {
      claim?.release();
    }
  }

  async commit(): Promise<void> {
    const { folder, name, temporary, file } = this.#target;
    const path = join(folder, name);
    try {
      await file.sync();
      await file.close();
      if (existsSync(path)) throw new SheafError("already_exists", `index file ${name} exists already`);
      await rename(temporary, path);
      this.#isCommitted = true;
      await syncFile(folder);
    } catch (error) {
      throw fullOr(error);
    }
  }

  async abort(): Promise<void> {
    if (this.#isCommitted) return;
    await this.#target.file.close();
    await removeAny(this.#target.temporary);
  }
}

/**
 * A segment is closed while older snapshots still read it, so nobody knows when its file may be: files that are not
 * closed are once nothing refers to them.
 */
const unreferenced = new FinalizationRegistry<OpenFile>((unread) => void closeFile(unread).catch(() => {}));

interface OpenFile {
  readonly file: FileHandle;
  /** Where it stands while it is open. */
  readonly open: Set<FileHandle>;
}

async function closeFile({ file, open }: OpenFile): Promise<void> {
  // Its folder may have closed it.
  if (open.delete(file)) await file.close();
}

class FolderFile implements SegmentFile {
  readonly name: string;
  readonly size: number;
  readonly isLocal = true;
  readonly #file: FileHandle;
  readonly #open: OpenFile;

  constructor(name: string, size: number, open: OpenFile) {
    this.name = name;
    this.size = size;
    this.#file = open.file;
    this.#open = open;
    open.open.add(open.file);
    unreferenced.register(this, open, this);
  }

  tryRead(into: Uint8Array, position: number): boolean {
    const { fd } = this.#file;
    for (let filled = 0; filled < into.length;) {
      let read;
      try {
        read = readSync(fd, into, filled, into.length - filled, position + filled);
      } catch (error) {
        throw damagedOr(this.name, error);
      }
      filled += this.#requireMore(read, position + filled);
    }
    return true;
  }

  async read(into: Uint8Array, position: number, { signal }: ReadOptions = {}): Promise<void> {
    for (let filled = 0; filled < into.length;) {
      throwIfAborted(signal);
      let read;
      try {
        read = await this.#file.read(into, filled, into.length - filled, position + filled);
      } catch (error) {
        throw damagedOr(this.name, error);
      }
      filled += this.#requireMore(read.bytesRead, position + filled);
    }
  }

  /** Waits for the reads under way, so that no descriptor is used that belongs to another file by then. */
  async close(): Promise<void> {
    unreferenced.unregister(this);
    await closeFile(this.#open);
  }

  #requireMore(read: number, at: number): number {
    if (read === 0) throw new SegmentDamaged(this.name, null, `it ends at byte ${at}`);
    return read;
  }
}

/** What the device cannot give back is damaged; anything else is no matter of this file. */
function damagedOr(name: string, error: unknown): unknown {
  if (errorCode(error) !== "EIO") return error;
  return new SegmentDamaged(name, null, "the device cannot read it (EIO)", error);
}

function fullOr(error: unknown): unknown {
  return isDiskFull(error) ? storageFull("", error) : error;
}

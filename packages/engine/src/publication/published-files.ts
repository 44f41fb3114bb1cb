/**
 * Index files of one collection: those of its folder, and those that another server, or this one, has published, which are
 * fetched into the folder when they are first opened. So the folder is a cache on disk: what is damaged there is set aside,
 * and fetched again. An object is looked at as a whole before anything is read of it; one that is not what was written
 * is left where it is, for other servers and a person to look at, and counts as missing here. So that calls need not wait
 * for whole files, these can be read where they are until they are here: then each range is held to its checksum alone.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { ArrivingFile } from "./arriving-file.ts";
import type { FolderFiles } from "../storage/files/folder-files.ts";
import { openSections } from "../storage/files/section-reader.ts";
import type { FileIdentity } from "../storage/files/section-writer.ts";
import { SegmentDamaged, SegmentWithoutRoom } from "../storage/files/segment-damaged.ts";
import type {
  ReadOptions,
  SegmentFile,
  SegmentFileWriter,
  SegmentFiles,
} from "../storage/files/segment-files.ts";

/** Blocks of an object that are fetched at once. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** A second time where the first one brought other bytes. */
const MOST_FETCHES = 2;

export interface PublishedFilesOptions {
  readonly folder: FolderFiles;
  readonly objects: Pick<SegmentFiles, "open">;
  /** Few fetch at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Told of what cannot be had; the file counts as missing then. `SegmentDamaged`: nobody can have it. */
  readonly onProblem: (error: unknown) => void;
}

export class PublishedFiles implements SegmentFiles {
  readonly #options: PublishedFilesOptions;
  readonly #folder: FolderFiles;
  #published: ReadonlyMap<string, FileIdentity> = new Map();
  readonly #fetching = new Map<string, Promise<boolean>>();
  /** Those that had no room on the disk when they were last fetched. */
  readonly #tooLarge = new Set<string>();
  #isReadThere = false;
  /** Are read where they are. */
  readonly #arriving = new Set<ArrivingFile>();

  constructor(options: PublishedFilesOptions) {
    this.#options = options;
    this.#folder = options.folder;
  }

  /** From now on these can be fetched. */
  know(files: readonly FileIdentity[]): void {
    this.#published = new Map(files.map((file) => [file.name, file]));
  }

  create(name: string): Promise<SegmentFileWriter> {
    return this.#folder.create(name);
  }

  async open(name: string, options: ReadOptions = {}): Promise<SegmentFile | null> {
    const here = await this.#folder.open(name, options);
    if (here !== null) return here;
    const there = await this.#openThere(name, options);
    if (there !== null) return there;
    if (await this.fetch(name, options.signal)) return this.#folder.open(name, options);
    if (this.#tooLarge.has(name)) throw new SegmentWithoutRoom(name);
    return null;
  }

  async #openThere(name: string, options: ReadOptions): Promise<SegmentFile | null> {
    if (!this.#isReadThere || !this.#published.has(name)) return null;
    const there = await this.#options.objects.open(name, options);
    if (there === null) return null;
    const file = new ArrivingFile(there);
    this.#arriving.add(file);
    return file;
  }

  /** From now on files that are not here are opened where they are, until `fetchRead`. */
  readThere(): void {
    this.#isReadThere = true;
  }

  /** Has all files here that are read where they are. 503 where one cannot be had, which was told. */
  async fetchRead(signal: CancelSignal): Promise<void> {
    this.#isReadThere = false;
    const fetched = async (file: ArrivingFile): Promise<void> => {
      this.#arriving.delete(file);
      if (file.isClosed) return;
      const here = (await this.fetch(file.name, signal)) ? await this.#folder.open(file.name) : null;
      if (here === null) throw notFetched();
      await file.arrived(here);
    };
    await Promise.all(Array.from(this.#arriving, fetched));
  }

  /** `false`: it is not published, or cannot be had. Callers that want one file at the same time share its requests. */
  async fetch(name: string, signal?: CancelSignal): Promise<boolean> {
    const file = this.#published.get(name);
    if (file === undefined) return false;
    const known = this.#fetching.get(name);
    if (known !== undefined) return known;
    const fetching = this.#options.inTurn(() => this.#fetch(file, signal));
    this.#fetching.set(name, fetching);
    this.#tooLarge.delete(name);
    try {
      return await fetching;
    } catch (error) {
      throwIfAborted(signal);
      if (error instanceof SheafError && error.code === "storage_full") this.#tooLarge.add(name);
      this.#options.onProblem(error);
      return false;
    } finally {
      this.#fetching.delete(name);
    }
  }

  list(): Promise<readonly string[]> {
    return this.#folder.list();
  }

  remove(name: string): Promise<void> {
    return this.#folder.remove(name);
  }

  /** Of the folder; the object stays. Whatever is opened after something was damaged is looked at as a whole first. */
  quarantine(name: string): Promise<void> {
    this.#isReadThere = false;
    // Whoever opened it there is rid of it.
    for (const file of this.#arriving) if (file.name === name) this.#arriving.delete(file);
    return this.#folder.quarantine(name);
  }

  isQuarantined(name: string): Promise<boolean> {
    return this.#folder.isQuarantined(name);
  }

  removeUnfinished(): Promise<void> {
    return this.#folder.removeUnfinished();
  }

  close(): Promise<void> {
    return this.#folder.close();
  }

  async #fetch(file: FileIdentity, signal: CancelSignal | undefined): Promise<boolean> {
    // It came while this waited for its turn.
    const here = await this.#folder.open(file.name);
    if (here !== null) return here.close().then(() => true);
    for (let attempt = 1; ; attempt++) {
      const object = await this.#options.objects.open(file.name, { signal });
      if (object === null) throw new SegmentDamaged(file.name, null, "the object store does not have it");
      try {
        await copyInto(this.#folder, object, signal);
        await verifyFile(this.#folder, file, signal);
        return true;
      } catch (error) {
        if (!(error instanceof SegmentDamaged)) throw error;
        await this.#folder.remove(file.name);
        if (attempt === MOST_FETCHES) throw error;
      } finally {
        await object.close();
      }
    }
  }
}

function notFetched(): SheafError {
  const words = "the index of the collection could not be fetched; try again";
  return new SheafError("unavailable", words, { retryAfterSeconds: 5 });
}

/** Every byte of a file against its checksums. Throws `SegmentDamaged`. */
export async function verifyFile(
  files: Pick<SegmentFiles, "open">,
  file: FileIdentity,
  signal?: CancelSignal,
): Promise<void> {
  const reader = await openSections(files as SegmentFiles, file, { signal });
  try {
    const verification = reader.verify({ signal });
    while ((await verification.next()).done !== true) await nextTurn();
  } finally {
    await reader.close();
  }
}

/** Piece by piece, so that a large file is never in memory. */
export async function* piecesOf(file: SegmentFile, signal?: CancelSignal): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, file.size - at));
    await file.read(piece, at, { signal });
    yield piece;
  }
}

/** Under its own name. */
export async function copyInto(
  to: Pick<SegmentFiles, "create">,
  file: SegmentFile,
  signal?: CancelSignal,
): Promise<void> {
  const writer = await to.create(file.name);
  try {
    for await (const piece of piecesOf(file, signal)) await writer.write(piece);
    await writer.commit();
  } finally {
    await writer.abort();
  }
}

/**
 * Backups in a bucket, with the same names and files as in a folder. They are made and read in a folder of this machine: what
 * is verified, restored, exported or added to is fetched there first, with all that it adds to, and a new one is sent when it is
 * complete. `backup.json` is sent last, so a backup is there whole or not at all. `unfinished` is there before all else, and is
 * removed last.
 */
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { createDiskSpace } from "../../storage/folder/disk-space.ts";
import { makeFolder } from "../../storage/folder/make-folder.ts";
import { ObjectStore, type ObjectStoreSettings } from "../../storage/objects/object-store.ts";
import { inFull } from "../../storage/objects/store-failure.ts";
import {
  type Backup,
  type BackupHeader,
  FILE_NAME,
  HEADER,
  HEADER_SUM,
  MOST_HEADER_BYTES,
  UNFINISHED,
  damaged,
  parseHeader,
  readChain,
  readHeader,
} from "../backup-files.ts";
import { namingFullDisk } from "../naming-full-disk.ts";
import { type RemovedBackup, refuseNeeded } from "../remove-backup.ts";
import { fetchFile, filesBelow, sendFile } from "./transfer.ts";

/** In place of a base's name, for no backup has such names. Not empty: of an empty object no range can be read. */
const WHOLE = ".";
/** Of what is being removed. */
const REMOVED = "/";

export interface TransferProgress {
  readonly bytes: number;
  readonly totalBytes: number;
}

export interface TransferOptions {
  readonly signal?: CancelSignal | undefined;
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
}

export class BucketBackups {
  /** For messages: `s3://bucket/prefix/`. */
  readonly url: string;
  readonly #store: ObjectStore;

  /** Throws `invalid_argument` for an endpoint that is not https and should be. */
  constructor(settings: ObjectStoreSettings) {
    this.url = `s3://${settings.bucket}/${settings.prefix}`;
    this.#store = new ObjectStore(settings);
  }

  /** Of all that have files there, complete or not. */
  async names(): Promise<readonly string[]> {
    const folders = await this.#naming("", this.#store.listFolders(""));
    return folders.map((name) => name.slice(0, -1));
  }

  /** Throws as `readHeader`. */
  async header(name: string): Promise<BackupHeader> {
    const place = this.url + name;
    if (!FILE_NAME.test(name)) throw new SheafError("invalid_argument", `${place} is no name of a backup`);
    const text = await this.#small(`${name}/${HEADER}`);
    if (text === null) throw new SheafError("invalid_argument", `${place} is no complete backup of Sheaf`);
    return parseHeader(place, text, (await this.#small(`${name}/${HEADER_SUM}`)) ?? "");
  }

  /**
   * Says that a backup of that name will be sent, and what it adds to, so that nobody removes that meanwhile. What an
   * interrupted attempt has left there is removed. Throws `already_exists`.
   */
  async begin(name: string, base: string | null): Promise<void> {
    if (await this.isBackup(name)) throw new SheafError("already_exists", `Backup [${name}] already exists`);
    await this.#clear(name);
    await this.#mark(name, base ?? WHOLE);
  }

  async isBackup(name: string): Promise<boolean> {
    const object = `${name}/${HEADER}`;
    return (await this.#naming(object, this.#store.sizeOf(object))) !== null;
  }

  /**
   * The backup and those that it adds to, newest first, with their names as folders. Throws as `readChain`.
   *
   * @param read As `header`.
   */
  async chain(name: string, read = (one: string) => this.header(one)): Promise<readonly Backup[]> {
    const chain = await readChain(`/${name}`, (path) => read(nameIn(path)));
    return chain.map(({ folder, header }) => ({ folder: nameIn(folder), header }));
  }

  /** As `fetch`, but for what is in them: what they say of themselves. */
  async fetchHeaders(name: string, folder: string): Promise<void> {
    for (const { folder: link } of await this.chain(name))
      for (const file of [HEADER, HEADER_SUM])
        await this.#naming(
          `${link}/${file}`,
          fetchFile(this.#store, `${link}/${file}`, join(folder, link, file)),
        );
  }

  /**
   * Copies a backup, and those that it adds to, to folders of their names below `folder`. Gives that of the backup. Throws
   * `storage_full` where they do not fit, `failed_precondition` for a file that is missing, `unavailable`.
   */
  async fetch(name: string, folder: string, { signal, onProgress }: TransferOptions = {}): Promise<string> {
    const chain = await this.chain(name);
    makeFolder(folder);
    const totalBytes = chain.reduce((sum, { header }) => sum + header.bytes, 0);
    requireRoom(folder, totalBytes);
    let bytes = 0;
    for (const { folder: link } of chain) {
      for (const object of await this.#filesOf(link)) {
        throwIfAborted(signal);
        bytes += await this.#naming(object, fetchFile(this.#store, object, join(folder, object)));
        onProgress?.({ bytes, totalBytes });
      }
    }
    return join(folder, name);
  }

  /**
   * Sends a backup that was begun, and is complete in the folder of its name below `above`. Where that fails, `cancel` removes
   * what was sent. Throws `failed_precondition` where it, or what it adds to, was removed meanwhile, and `unavailable` with the
   * file's name.
   */
  async send(name: string, above: string, { signal }: TransferOptions = {}): Promise<void> {
    const folder = join(above, name);
    const { base } = await readHeader(folder);
    const files = filesBelow(folder).filter((file) => file !== HEADER && file !== HEADER_SUM);
    for (const file of [...files, HEADER_SUM]) {
      throwIfAborted(signal);
      await sendFile(this.#store, join(folder, file), `${name}/${file}`);
    }
    await this.#requireBegun(name, base);
    await sendFile(this.#store, join(folder, HEADER), `${name}/${HEADER}`);
    // It is complete, and the mark means nothing any more.
    await this.#store.remove(`${name}/${UNFINISHED}`).catch(() => undefined);
  }

  /** Removes what was sent of a backup that will not be completed. */
  async cancel(name: string): Promise<void> {
    if (!(await this.isBackup(name))) await this.#clear(name);
  }

  /** As `removeBackup`. */
  async remove(name: string): Promise<RemovedBackup> {
    if (FILE_NAME.test(name) && !(await this.isBackup(name)) && (await this.#markOf(name)) !== null) {
      await this.#clear(name);
      return "unfinished";
    }
    const { id } = await this.header(name);
    const needing: string[] = [];
    for (const other of await this.names())
      if (other !== name && (await this.#needs(other, { id, name }))) needing.push(other);
    refuseNeeded(name, needing);
    await this.#mark(name, REMOVED);
    // Without its header it is no backup any more, wherever this is interrupted.
    await this.#store.remove(`${name}/${HEADER}`);
    await this.#clear(name);
    return "complete";
  }

  async #needs(
    other: string,
    { id, name }: { readonly id: string; readonly name: string },
  ): Promise<boolean> {
    if (await this.isBackup(other)) return (await this.header(other)).base?.id === id;
    return (await this.#markOf(other)) === name;
  }

  async #requireBegun(name: string, base: BackupHeader["base"]): Promise<void> {
    const baseName = base === null ? null : basename(base.path);
    if ((await this.#markOf(name)) !== (baseName ?? WHOLE))
      throw new SheafError("failed_precondition", `${this.url}${name} was removed while it was made`);
    if (baseName === null) return;
    if (!(await this.isBackup(baseName)) || (await this.header(baseName)).id !== base?.id)
      throw new SheafError(
        "failed_precondition",
        `${baseName}, which ${name} adds to, was removed while it was made`,
      );
  }

  /** Of a backup that is not complete: the name of its base, `WHOLE` or `REMOVED`. `null`: it has none. */
  #markOf(name: string): Promise<string | null> {
    return this.#small(`${name}/${UNFINISHED}`);
  }

  #mark(name: string, text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const object = `${name}/${UNFINISHED}`;
    return this.#naming(object, this.#store.put(object, bytes, createHash("md5").update(bytes).digest()));
  }

  /** All objects of a backup. */
  async #filesOf(name: string): Promise<readonly string[]> {
    const objects = await this.#naming(`${name}/`, this.#store.listAll(`${name}/`));
    for (const object of objects)
      if (!object.split("/").every((part) => FILE_NAME.test(part)))
        throw damaged(this.url + name, `${object} is no file of a backup`);
    return objects.filter((object) => object !== `${name}/${UNFINISHED}`);
  }

  /** Wherever it is interrupted, `remove` knows what is left, and it needs no other backup. */
  async #clear(name: string): Promise<void> {
    const mark = `${name}/${UNFINISHED}`;
    const objects = await this.#naming(`${name}/`, this.#store.listAll(`${name}/`));
    if (objects.length === 0) return;
    await this.#mark(name, REMOVED);
    for (const object of objects) if (object !== mark) await this.#naming(object, this.#store.remove(object));
    await this.#naming(mark, this.#store.remove(mark));
  }

  /** What a store says of a request does not name it. */
  async #naming<T>(object: string, asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof SheafError) || error.code !== "unavailable") throw error;
      throw new SheafError(error.code, `${this.url}${object}: ${inFull(error)}`, { cause: error });
    }
  }

  /** `null`: there is none. */
  async #small(object: string): Promise<string | null> {
    const found = await this.#naming(object, this.#store.get(object, `0-${MOST_HEADER_BYTES}`));
    if (found !== null && found.size > MOST_HEADER_BYTES) throw damaged(this.url + object, "it is too large");
    return found?.bytes.toString("utf8") ?? null;
  }
}

function requireRoom(folder: string, bytes: number): void {
  try {
    createDiskSpace(folder).claimFile(bytes).release();
  } catch (error) {
    throw namingFullDisk(folder, error);
  }
}

function nameIn(path: string): string {
  return path.slice(1);
}

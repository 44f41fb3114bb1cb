/**
 * Backups in a bucket, with the same names and files as in a folder. They are made and read in a folder of this machine: what
 * is verified, restored, exported or added to is fetched there first, with all that it adds to, and a new one is sent when it is
 * complete. `backup.json` is sent last, so a backup is there whole or not at all.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { createDiskSpace } from "../../storage/folder/disk-space.ts";
import { makeFolder } from "../../storage/folder/make-folder.ts";
import { ObjectStore, type ObjectStoreSettings } from "../../storage/objects/object-store.ts";
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
} from "../backup-files.ts";
import { fetchFile, filesBelow, sendFile } from "./transfer.ts";

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
    return (await this.#store.listFolders("")).map((name) => name.slice(0, -1));
  }

  /** Throws as `readHeader`. */
  async header(name: string): Promise<BackupHeader> {
    const place = this.url + name;
    if (!FILE_NAME.test(name)) throw new SheafError("invalid_argument", `${place} is no name of a backup`);
    const text = await this.#small(`${name}/${HEADER}`);
    if (text === null) throw new SheafError("invalid_argument", `${place} is no complete backup of Sheaf`);
    return parseHeader(place, text, (await this.#small(`${name}/${HEADER_SUM}`)) ?? "");
  }

  /** Throws `already_exists`. */
  async requireNew(name: string): Promise<void> {
    if (await this.isBackup(name)) throw new SheafError("already_exists", `Backup [${name}] already exists`);
  }

  async isBackup(name: string): Promise<boolean> {
    return (await this.#store.sizeOf(`${name}/${HEADER}`)) !== null;
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

  /**
   * Copies a backup, and those that it adds to, to folders of their names below `folder`. Gives that of the backup. Throws
   * `storage_full` where they do not fit, `failed_precondition` for a file that is missing, `unavailable`.
   */
  async fetch(name: string, folder: string, { signal, onProgress }: TransferOptions = {}): Promise<string> {
    const chain = await this.chain(name);
    makeFolder(folder);
    const totalBytes = chain.reduce((sum, { header }) => sum + header.bytes, 0);
    createDiskSpace(folder).claimFile(totalBytes).release();
    let bytes = 0;
    for (const { folder: link } of chain) {
      for (const object of await this.#filesOf(link)) {
        throwIfAborted(signal);
        bytes += await fetchFile(this.#store, object, join(folder, object));
        onProgress?.({ bytes, totalBytes });
      }
    }
    return join(folder, name);
  }

  /**
   * Sends a complete backup from the folder of its name below `above`, where what it adds to lies, too. What an interrupted attempt has left there is
   * removed. Throws `already_exists`, and `unavailable` with the file's name.
   */
  async send(name: string, above: string, { signal }: TransferOptions = {}): Promise<void> {
    const folder = join(above, name);
    await this.requireNew(name);
    await this.#clear(name);
    try {
      // Whoever removes backups sees by it that the base is needed.
      await this.#put(`${name}/${UNFINISHED}`, Buffer.from((await this.#baseOf(folder)) ?? ""));
      const files = filesBelow(folder).filter((file) => file !== HEADER && file !== HEADER_SUM);
      for (const file of [...files, HEADER_SUM, HEADER]) {
        throwIfAborted(signal);
        await sendFile(this.#store, join(folder, file), `${name}/${file}`);
      }
      await this.#store.remove(`${name}/${UNFINISHED}`);
    } catch (error) {
      await this.#clear(name).catch(() => undefined);
      throw error;
    }
  }

  /** Throws as `removeBackup`. */
  async remove(name: string): Promise<void> {
    const { id } = await this.header(name);
    const needing: string[] = [];
    for (const other of await this.names())
      if (other !== name && (await this.#needs(other, { id, name }))) needing.push(other);
    if (needing.length > 0)
      throw new SheafError(
        "failed_precondition",
        `${name} is needed by ${needing.join(", ")}, which would be lost with it: remove what adds to it first`,
      );
    // Without its header it is no backup any more, wherever this is interrupted.
    await this.#store.remove(`${name}/${HEADER}`);
    await this.#clear(name);
  }

  async #needs(
    other: string,
    { id, name }: { readonly id: string; readonly name: string },
  ): Promise<boolean> {
    if (await this.isBackup(other)) return (await this.header(other)).base?.id === id;
    return (await this.#small(`${other}/${UNFINISHED}`)) === name;
  }

  /** Name of the backup that one in a folder adds to; `null`: it is whole. */
  async #baseOf(folder: string): Promise<string | null> {
    const text = readFileSync(join(folder, HEADER), "utf8");
    const { base } = parseHeader(folder, text, readFileSync(join(folder, HEADER_SUM), "utf8"));
    return base === null ? null : basename(base.path);
  }

  /** All objects of a backup. */
  async #filesOf(name: string): Promise<readonly string[]> {
    const objects = await this.#store.listAll(`${name}/`);
    for (const object of objects)
      if (!object.split("/").every((part) => FILE_NAME.test(part)))
        throw damaged(this.url + name, `${object} is no file of a backup`);
    return objects.filter((object) => object !== `${name}/${UNFINISHED}`);
  }

  async #clear(name: string): Promise<void> {
    for (const object of await this.#store.listAll(`${name}/`)) await this.#store.remove(object);
  }

  /** `null`: there is none. */
  async #small(object: string): Promise<string | null> {
    const found = await this.#store.get(object, `0-${MOST_HEADER_BYTES}`);
    if (found !== null && found.size > MOST_HEADER_BYTES) throw damaged(this.url + object, "it is too large");
    return found?.bytes.toString("utf8") ?? null;
  }

  #put(object: string, bytes: Buffer): Promise<void> {
    return this.#store.put(object, bytes, createHash("md5").update(bytes).digest());
  }
}

function nameIn(path: string): string {
  return path.slice(1);
}

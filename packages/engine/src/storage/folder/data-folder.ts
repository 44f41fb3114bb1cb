/**
 * Where things lie inside a data folder:
 *
 *     format.json                          version of the layout
 *     lock.json                            who uses the folder
 *     archive.json                         of which archive, and stretch of it, what is written is part
 *     backups.json                         ids of backups that were made of it
 *     cache.id                             which of the caches of a database this is, where it is one
 *     catalog/                             one LMDB environment
 *     collections/<first 2 hex>/<uuid>/    one LMDB environment per written collection, and beside it
 *         index/                           files of its index, where these are kept
 *         purged.json                      when what was deleted was last removed for good
 *     collections/<2 hex>/<uuid>.p/<n>/    the same of one partition alone, of a collection that a database has
 *     shared/<2 hex>/                      LMDB environments that small collections share
 *     trash/                               dropped collections on their way out
 *
 * Beside them the gateway keeps the root key, prepared models and replies on their way out (restrict-access.ts).
 *
 * Names of tenants, databases and collections never become paths; only ids that Sheaf made do.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isDiskFull } from "./disk-space.ts";
import { collectionOf, partitionIn, partitionName } from "./partition-name.ts";
import { isSharedName } from "./shared-names.ts";

const PREFIX = /^[0-9a-f]{2}$/;
const COLLECTION = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.p)?$/;

export class DataFolder {
  readonly path: string;
  /** Collections that were dropped while files are held; `null`: they are not. */
  #dropped: Set<string> | null = null;

  constructor(path: string) {
    this.path = path;
  }

  get formatFile(): string {
    return join(this.path, "format.json");
  }

  get lockFile(): string {
    return join(this.path, "lock.json");
  }

  get cacheFile(): string {
    return join(this.path, "cache.id");
  }

  get catalog(): string {
    return join(this.path, "catalog");
  }

  get catalogFile(): string {
    return join(this.catalog, "data.mdb");
  }

  /** Of a server with a database, which keeps the catalog and the records. */
  get isCache(): boolean {
    return existsSync(this.cacheFile) && !this.hasCatalog;
  }

  /** There is a file, and it is not empty. */
  get hasCatalog(): boolean {
    const file = this.catalogFile;
    return existsSync(file) && statSync(file).size > 0;
  }

  collection(id: string): string {
    return join(this.path, collectionName(id));
  }

  /** Not there before the first write. */
  collectionFile(id: string): string {
    return join(this.collection(id), "data.mdb");
  }

  /** Files of a collection's index, which can be made anew of its records. */
  collectionIndex(id: string): string {
    return join(this.collection(id), "index");
  }

  /** Not there before the first purge. */
  purgeMark(id: string): string {
    return join(this.collection(id), "purged.json");
  }

  /** Size of a collection's file; 0 before its first write. */
  collectionBytes(id: string): number {
    return statSync(this.collectionFile(id), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Size of the file of a collection, or of an environment that collections share; 0: there is none. */
  storeBytes(store: string): number {
    if (!isSharedName(store)) return this.collectionBytes(store);
    return statSync(join(this.path, store, "data.mdb"), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Of the collections that have a folder, or several, in the catalog or not. */
  *collectionIds(): Generator<string> {
    const root = join(this.path, "collections");
    if (!existsSync(root)) return;
    for (const prefix of readdirSync(root).filter((name) => PREFIX.test(name)))
      yield* new Set(namesIn(join(root, prefix)).map(collectionOf));
  }

  /**
   * Takes a dropped collection's files away; they are gone from its path before anything is deleted, save where the disk has
   * no room to move them.
   */
  discardCollection(id: string): Promise<void> {
    return this.#discard(this.collection(id));
  }

  async #discard(folder: string): Promise<void> {
    if (!existsSync(folder)) return;
    await rm(this.#moveToTrash(folder) ?? folder, { recursive: true, force: true });
  }

  /** `discardCollection` of one that the catalog names no more, put off while files are held. */
  async dropCollection(id: string): Promise<void> {
    if (this.#dropped === null) await this.#discardAll(id);
    else this.#dropped.add(id);
  }

  /** Files of dropped collections stay where they are until what it returns is called. One at a time. */
  hold(): () => Promise<void> {
    const dropped = (this.#dropped = new Set<string>());
    return async () => {
      this.#dropped = null;
      for (const id of dropped) await this.#discardAll(id);
    };
  }

  async #discardAll(id: string): Promise<void> {
    await this.discardCollection(id);
    await this.#discard(dirname(this.collection(partitionName(id, 0))));
  }

  /** `null`: a new name takes a block, and there is none. */
  #moveToTrash(folder: string): string | null {
    try {
      const doomed = this.newTrash();
      renameSync(folder, doomed);
      return doomed;
    } catch (error) {
      if (isDiskFull(error)) return null;
      throw error;
    }
  }

  /** Removes what a crash left: trash, and collections the catalog does not know. */
  async sweep(isUnknown: (id: string) => Promise<boolean>): Promise<void> {
    for (const id of this.collectionIds()) {
      if (await isUnknown(id)) await this.#discardAll(id);
    }
    await rm(this.#trash, { recursive: true, force: true });
  }

  /** A path that is not there yet, for what the next start may remove. */
  newTrash(): string {
    mkdirSync(this.#trash, { recursive: true });
    return join(this.#trash, randomUUID());
  }

  get #trash(): string {
    return join(this.path, "trash");
  }
}

function namesIn(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => COLLECTION.test(name));
}

/** Path of a collection inside the data folder; also its name in messages. */
export function collectionName(id: string): string {
  const place = join("collections", id.slice(0, 2));
  const partition = partitionIn(id);
  return partition === null ? join(place, id) : join(place, `${collectionOf(id)}.p`, String(partition));
}

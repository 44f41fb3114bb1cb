/** What the lists of a chain of backups say of collections, and where their files are. */
import { join } from "node:path";
import { collectionName } from "../storage/folder/data-folder.ts";
import { type BackedUpCollection, type Backup, damaged, readCollections, storeFile } from "./backup-files.ts";

/** Files that make a store: the whole one first. */
export interface StoreParts {
  readonly whole: string;
  readonly changes: readonly string[];
}

/** The collections of a chain of backups by id, one map for each backup, newest first. */
export class BackedUpCollections {
  readonly #chain: readonly Backup[];
  readonly #lists: readonly ReadonlyMap<string, BackedUpCollection>[];

  private constructor(chain: readonly Backup[], lists: readonly ReadonlyMap<string, BackedUpCollection>[]) {
    this.#chain = chain;
    this.#lists = lists;
  }

  static async read(chain: readonly Backup[]): Promise<BackedUpCollections> {
    const lists: Map<string, BackedUpCollection>[] = [];
    for (const { folder } of chain) {
      const list = new Map<string, BackedUpCollection>();
      for await (const collection of readCollections(folder)) list.set(collection.id, collection);
      lists.push(list);
    }
    return new BackedUpCollections(chain, lists);
  }

  /** Of the newest backup. */
  all(): Iterable<BackedUpCollection> {
    return this.#lists[0]?.values() ?? [];
  }

  /** As the newest backup has it; `null`: it does not. */
  find(id: string): BackedUpCollection | null {
    return this.#lists[0]?.get(id) ?? null;
  }

  /** `null`: the newest backup has no records of it. */
  partsOf(id: string): StoreParts | null {
    const changes: string[] = [];
    for (const [i, { folder }] of this.#chain.entries()) {
      const store = this.#lists[i]?.get(id)?.store ?? null;
      if (store === null) {
        if (i === 0) return null;
        throw damaged(folder, `it lacks what the records of collection ${id} are changes of`);
      }
      const path = storeFile(join(folder, collectionName(id)), store);
      if (store.isWhole) return { whole: path, changes: changes.toReversed() };
      changes.push(path);
    }
    throw damaged(this.#chain.at(-1)?.folder ?? "", `it has changes of collection ${id} alone`);
  }

  /** Path of a file of its index. */
  indexFile(id: string, file: { readonly name: string; readonly in: string }): string {
    const holder = this.#chain.find(({ header }) => header.id === file.in);
    if (holder === undefined) throw damaged(this.#chain[0]?.folder ?? "", `no backup ${file.in} is below it`);
    return join(holder.folder, collectionName(id), "index", file.name);
  }
}

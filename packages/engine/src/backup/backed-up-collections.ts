/** What a chain of backups says of collections and of the catalog, and where their files are. */
import { join } from "node:path";
import { collectionName } from "../storage/folder/data-folder.ts";
import {
  type BackedUpCollection,
  type Backup,
  type BackupHeader,
  CATALOG,
  type StorePart,
  damaged,
  partFile,
  readCollections,
} from "./backup-files.ts";
import type { ChangeList } from "./entry-changes.ts";

/** What makes a store. */
export interface StoreParts {
  /** Path of an LMDB file; `null`: all entries are in the first of the changes. */
  readonly whole: string | null;
  /** In the order in which they were made. */
  readonly changes: readonly ChangeList[];
}

/** Of a chain of backups, one that may not be complete. */
interface Link {
  readonly folder: string;
  readonly header: Pick<BackupHeader, "id">;
}

/** The collections of the newest backup of a chain by id. */
export class BackedUpCollections {
  readonly #chain: readonly Backup[];
  /** Newest first: as many as it takes to know all parts, one but for backups of format 1. */
  readonly #lists: readonly ReadonlyMap<string, BackedUpCollection>[];

  private constructor(chain: readonly Backup[], lists: readonly ReadonlyMap<string, BackedUpCollection>[]) {
    this.#chain = chain;
    this.#lists = lists;
  }

  /** @param prepare Before the list of a backup is read. */
  static async read(
    chain: readonly Backup[],
    prepare: (backup: Backup) => Promise<void> = async () => {},
  ): Promise<BackedUpCollections> {
    const lists: Map<string, BackedUpCollection>[] = [];
    for (const backup of chain) {
      await prepare(backup);
      const list = new Map<string, BackedUpCollection>();
      let isWhole = true;
      for await (const collection of readCollections(backup)) {
        list.set(collection.id, collection);
        isWhole &&= collection.parts[0]?.isWhole ?? true;
      }
      lists.push(list);
      if (isWhole) break;
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

  /** The whole one first; none: the newest backup has no records of it. */
  listedParts(id: string): readonly StorePart[] {
    let parts = this.find(id)?.parts ?? [];
    for (let i = 1; parts[0]?.isWhole === false; i++) {
      const older = this.#lists[i]?.get(id)?.parts ?? [];
      if (older.length === 0)
        throw damaged(this.#folder(i), `it lacks what the records of collection ${id} are changes of`);
      parts = [...older, ...parts];
    }
    return parts;
  }

  /** `null`: the newest backup has no records of it. */
  partsOf(id: string): StoreParts | null {
    const listed = this.listedParts(id);
    return listed.length === 0 ? null : partsIn(this.#chain, collectionName(id), listed);
  }

  /** Path of a file of its index. */
  indexFile(id: string, file: { readonly name: string; readonly in: string }): string {
    return join(holderOf(this.#chain, file.in).folder, collectionName(id), "index", file.name);
  }

  #folder(i: number): string {
    return (this.#chain[i] ?? this.#chain.at(-1))?.folder ?? "";
  }
}

/** The catalog of the newest backup of a chain. */
export function catalogOf(chain: readonly Backup[]): StoreParts {
  return partsIn(chain, CATALOG, chain[0]?.header.catalog ?? []);
}

/** Where parts lie; `name` as of `partFile`. */
export function partsIn(chain: readonly Link[], name: string, parts: readonly StorePart[]): StoreParts {
  const places = parts.map((part) => {
    const path = partFile(holderOf(chain, part.in).folder, name, part);
    return { isFile: part.isWhole && part.pack === null, path, at: part.pack?.at ?? 0, bytes: part.bytes };
  });
  const [first] = places;
  return first?.isFile === true
    ? { whole: first.path, changes: places.slice(1) }
    : { whole: null, changes: places };
}

export function holderOf(chain: readonly Link[], backup: string): Link {
  const holder = chain.find(({ header }) => header.id === backup);
  if (holder === undefined) throw damaged(chain[0]?.folder ?? "", `no backup ${backup} is below it`);
  return holder;
}

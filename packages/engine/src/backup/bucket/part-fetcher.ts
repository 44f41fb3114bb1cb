/** Fetches parts of backups in a bucket to where they lie in the files of a folder, each once. */
import { relative } from "node:path";
import { ObjectStore, type ObjectStoreSettings } from "../../storage/objects/object-store.ts";
import type { FileRange, FileSum } from "../summed-file.ts";
import { fetchPart } from "./transfer.ts";

export class PartFetcher {
  readonly #store: ObjectStore;
  readonly #folder: string;
  readonly #fetched = new Set<string>();

  /** @param folder Where backups lie in folders of their names. */
  constructor(settings: ObjectStoreSettings, folder: string) {
    this.#store = new ObjectStore(settings);
    this.#folder = folder;
  }

  /** As `fetchPart`. */
  async fetch(path: string, part: FileRange & FileSum): Promise<void> {
    const name = `${part.at} ${path}`;
    if (this.#fetched.has(name)) return;
    await fetchPart(this.#store, relative(this.#folder, path), { path, ...part });
    this.#fetched.add(name);
  }
}

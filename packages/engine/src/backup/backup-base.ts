/**
 * The backup that another one adds to, as the process reads it that makes that. Of one in a bucket, the headers are on this
 * machine, and everything else is fetched when it is read, each file with holes where nothing was fetched.
 */
import { join } from "node:path";
import type { ObjectStoreSettings } from "../storage/objects/object-store.ts";
import { BackedUpCollections, holderOf } from "./backed-up-collections.ts";
import {
  type Backup,
  COLLECTION_LIST,
  type StorePart,
  damaged,
  partFile,
  readChain,
} from "./backup-files.ts";
import { PartFetcher } from "./bucket/part-fetcher.ts";
import { sumFile } from "./summed-file.ts";

export interface BaseStep {
  readonly folder: string;
  /** The data folder has gone on from the state that the base is a copy of. */
  readonly isOfFolder: boolean;
  /** Where it is fetched from, to the folder above; `null`: it is there. */
  readonly bucket: ObjectStoreSettings | null;
}

export class BackupBase {
  readonly chain: readonly Backup[];
  readonly collections: BackedUpCollections;
  readonly isOfFolder: boolean;
  readonly #fetcher: PartFetcher | null;

  private constructor(
    chain: readonly Backup[],
    collections: BackedUpCollections,
    { isOfFolder, fetcher }: { readonly isOfFolder: boolean; readonly fetcher: PartFetcher | null },
  ) {
    this.chain = chain;
    this.collections = collections;
    this.isOfFolder = isOfFolder;
    this.#fetcher = fetcher;
  }

  static async open({ folder, isOfFolder, bucket }: BaseStep): Promise<BackupBase> {
    const chain = await readChain(folder);
    const fetcher = bucket === null ? null : new PartFetcher(bucket, join(folder, ".."));
    const collections = await BackedUpCollections.read(chain, async (link) =>
      fetcher === null
        ? requireSoundList(link)
        : fetcher.fetch(join(link.folder, COLLECTION_LIST), { at: 0, ...link.header.list }),
    );
    return new BackupBase(chain, collections, { isOfFolder, fetcher });
  }

  /** Has these parts on this machine. `name`: as of `partFile`. Throws `failed_precondition` where they are damaged. */
  async fetch(name: string, parts: readonly StorePart[]): Promise<void> {
    if (this.#fetcher === null) return;
    for (const part of parts) {
      const path = partFile(holderOf(this.chain, part.in).folder, name, part);
      await this.#fetcher.fetch(path, { ...part, at: part.pack?.at ?? 0 });
    }
  }
}

/** Everything of it is read, and what a line says wrongly would be in the new backup, too. */
async function requireSoundList({ folder, header }: Backup): Promise<void> {
  const { sha256 } = await sumFile(join(folder, COLLECTION_LIST));
  if (sha256 !== header.list.sha256) throw damaged(folder, `${COLLECTION_LIST} does not have its checksum`);
}

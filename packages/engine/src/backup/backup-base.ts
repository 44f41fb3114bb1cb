/**
 * The backup that another one adds to, as the process reads it that makes that. Of one in a bucket, the headers are on this
 * machine, and everything else is fetched when it is read, each file with holes where nothing was fetched.
 */
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import type { ObjectStoreSettings } from "../storage/objects/object-store.ts";
import { BackedUpCollections, holderOf } from "./backed-up-collections.ts";
import { type Backup, COLLECTION_LIST, type StorePart, partFile, readChain } from "./backup-files.ts";
import { PartFetcher } from "./bucket/part-fetcher.ts";
import { problemOf } from "./verify-backup.ts";

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
  /** What was found to be damaged, by its path. */
  readonly problems: string[] = [];
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
    const collections = await BackedUpCollections.read(chain, async (link) => {
      if (fetcher === null) await requireSoundList(link);
      else await fetcher.fetch(join(link.folder, COLLECTION_LIST), { at: 0, ...link.header.list });
    });
    return new BackupBase(chain, collections, { isOfFolder, fetcher });
  }

  /** Whether these parts are as they were written; they are on this machine then. `name`: as of `partFile`. */
  async isSound(name: string, parts: readonly StorePart[]): Promise<boolean> {
    for (const part of parts) {
      const path = partFile(holderOf(this.chain, part.in).folder, name, part);
      const problem = await this.#problemOf(path, part);
      if (problem === null) continue;
      this.problems.push(problem);
      return false;
    }
    return true;
  }

  async #problemOf(path: string, { bytes, sha256, pack }: StorePart): Promise<string | null> {
    if (this.#fetcher === null) return problemOf({ path, at: pack?.at, bytes, sha256 });
    try {
      await this.#fetcher.fetch(path, { at: pack?.at ?? 0, bytes, sha256 });
      return null;
    } catch (error) {
      if (error instanceof SheafError && error.code === "failed_precondition") return error.message;
      throw error;
    }
  }
}

/** Throws `failed_precondition` where the list is damaged: it says what the base has. */
async function requireSoundList({ folder, header }: Backup): Promise<void> {
  const problem = await problemOf({ path: join(folder, COLLECTION_LIST), ...header.list });
  if (problem !== null)
    throw new SheafError("failed_precondition", `the base is damaged: ${problem}; make a whole backup`);
}

/** The steps of restoring a backup that write a data folder. They run in the backup process. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { tenantKey } from "../catalog/catalog-keys.ts";
import { keepTenant, renewEpochs } from "../catalog/catalog-selection.ts";
import { CatalogTransactions } from "../catalog/catalog-transactions.ts";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { installManifest, readManifest } from "../storage/files/manifest.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbCatalogStore } from "../storage/lmdb/lmdb-catalog-store.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import { restoreStore } from "./backed-up-store.ts";
import { CATALOG_FILE } from "./backup-files.ts";
import { copyFile } from "./summed-file.ts";

export interface RestoredCollectionStep {
  readonly id: string;
  readonly dataFolder: string;
  readonly sequence: number;
  /** `null`: it has no records. */
  readonly store: StoreParts | null;
  /** Names and paths of the files of its index. */
  readonly index: readonly { readonly name: string; readonly path: string }[];
}

export interface RestoredCatalogStep {
  /** Of the backup. */
  readonly from: string;
  readonly dataFolder: string;
  /** The only one to be restored; `null`: all. */
  readonly tenant: string | null;
}

interface Restored {
  readonly epoch: string;
  readonly sequence: number;
}

export class RestoreSteps {
  readonly #restored = new Map<string, Restored>();

  /** Records and index of one; it gets a new past, which the catalog learns of in the end. */
  async collection({ id, dataFolder, sequence, store, index }: RestoredCollectionStep): Promise<void> {
    const folder = new DataFolder(dataFolder);
    const epoch = randomUUID();
    this.#restored.set(id, { epoch, sequence });
    if (store === null) return;
    await restoreStore(store, folder.collection(id), collectionName(id));
    if (index.length === 0) return;
    const path = folder.collectionIndex(id);
    mkdirSync(path);
    for (const file of index) await copyFile(file.path, join(path, file.name));
    const files = new FolderFiles(path);
    try {
      const { manifest, nextN } = await readManifest(files);
      if (manifest !== null) await installManifest(files, { ...manifest, n: nextN, lineage: epoch });
    } finally {
      await files.close();
    }
  }

  /** After all collections. 404 for a tenant that is not in the backup. */
  async catalog({ from, dataFolder, tenant }: RestoredCatalogStep): Promise<void> {
    const folder = new DataFolder(dataFolder);
    const staging = folder.newTrash();
    mkdirSync(staging);
    await copyFile(join(from, CATALOG_FILE), join(staging, "data.mdb"));
    const catalog = new LmdbCatalogStore({ folder: staging, disk: createDiskSpace(dataFolder) });
    try {
      if (tenant !== null && (await catalog.get(tenantKey(tenant))) === null)
        throw new SheafError("not_found", `Tenant [${tenant}] is not in the backup`);
      await new CatalogTransactions(catalog).transact(async (transaction) => {
        if (tenant !== null) await keepTenant(transaction, tenant);
        const of = (id: string): Restored => this.#restored.get(id) ?? { epoch: randomUUID(), sequence: 0 };
        await renewEpochs(
          transaction,
          (id) => of(id).epoch,
          (id) => of(id).sequence,
        );
      });
      await catalog.copyTo(folder.catalog);
    } finally {
      await catalog.close();
      await rm(staging, { recursive: true, force: true });
    }
  }
}

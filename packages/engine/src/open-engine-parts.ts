/** Opens what an engine is made of: the data folder's catalog, and what collections share. */
import { openCatalog } from "./catalog/open-catalog.ts";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import type { EngineParts, OpenOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import { SharedStores } from "./storage/lmdb/shared-stores.ts";
import { TurnLock } from "./storage/turn-lock.ts";

/** Throws `failed_precondition` where the folder must not be used. */
export async function openEngineParts(options: OpenOptions): Promise<EngineParts> {
  const folder = new DataFolder(options.dataFolder);
  const disk = createDiskSpace(folder.path, options);
  const { quotas = NO_QUOTAS, shareStores, log } = options;
  const catalog = await openCatalog(folder, disk, { quotas, shares: shareStores !== undefined, log });
  const largeWrites = new TurnLock();
  const shares = new SharedStores({ path: folder.path, disk, largeWrites });
  return { folder, disk, catalog, largeWrites, shares };
}

/** Opens what an engine is made of: the data folder's catalog, and what collections share. */
import { SheafError } from "@sheaf/protocol";
import { Archive } from "./archive/archive.ts";
import { openCatalog } from "./catalog/open-catalog.ts";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import { describeError } from "./engine-log.ts";
import type { EngineParts, OpenOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import { SharedStores } from "./storage/lmdb/shared-stores.ts";
import { TurnLock } from "./storage/turn-lock.ts";

/** Throws `failed_precondition` where the folder must not be used. */
export async function openEngineParts(options: OpenOptions): Promise<EngineParts> {
  const folder = new DataFolder(options.dataFolder);
  const disk = createDiskSpace(folder.path, options);
  const largeWrites = new TurnLock();
  const shares = new SharedStores({ path: folder.path, disk, largeWrites, onTouch: options.onTouch });
  const { archive, catalog, logs, others, published, jobs } =
    options.database === undefined
      ? await openFolder(folder, disk, shares, options)
      : // Of no use, and none of its memory, on a server without a database.
        await (await import("./open-database.ts")).openDatabase(folder, options.database, options);
  return { folder, disk, catalog, logs, others, published, jobs, largeWrites, shares, archive, close };

  async function close(): Promise<void> {
    await shares.close();
    await published?.close();
    await logs?.close();
    await catalog.close();
    await archive?.close();
  }
}

/** What is neither in a database nor shared by collections. */
export type Kept = Pick<EngineParts, "archive" | "catalog" | "jobs" | "logs" | "others" | "published">;

async function openFolder(
  folder: DataFolder,
  disk: EngineParts["disk"],
  sharedStores: SharedStores,
  options: OpenOptions,
): Promise<Kept> {
  const { quotas = NO_QUOTAS, shareStores, log, objects } = options;
  if (objects !== undefined)
    throw new SheafError("failed_precondition", "an object store is of use beside a database only");
  const archive = openArchive(folder.path, options);
  const shares = shareStores !== null;
  const avoid = (id: string): boolean => shares && sharedStores.isKept(id);
  const catalogOptions = { quotas, shares, avoid, log, archive };
  const catalog = await openCatalog(folder, disk, catalogOptions).catch(async (error: unknown) => {
    await archive?.close();
    throw error;
  });
  return { archive, catalog, logs: null, others: null, published: null, jobs: null };
}

/** `null`: there is none, and what is written from now on will be in none. */
function openArchive(dataFolder: string, { archive, log = () => {} }: OpenOptions): Archive | null {
  if (archive === undefined) {
    Archive.leave(dataFolder);
    return null;
  }
  return Archive.open(archive, {
    dataFolder,
    onNews: (message) => log({ level: "warn", message }),
    onProblem: (error) =>
      log({
        level: "error",
        message: "the archive cannot be written; writes are refused until it can be",
        error: describeError(error),
      }),
  });
}

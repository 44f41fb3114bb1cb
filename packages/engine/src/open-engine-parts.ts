/** Opens what an engine is made of: the data folder's catalog, and what collections share. */
import { SheafError } from "@sheaf/protocol";
import { Archive } from "./archive/archive.ts";
import { createArchiveDisk, onBothDisks } from "./archive/archive-disk.ts";
import { openCatalog } from "./catalog/open-catalog.ts";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import { describeError } from "./engine-log.ts";
import type { EngineParts, OpenOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { type DiskSpace, createDiskSpace, isDiskFull } from "./storage/folder/disk-space.ts";
import { SharedStores } from "./storage/lmdb/shared-stores.ts";
import { TurnLock } from "./storage/turn-lock.ts";

/** Throws `failed_precondition` where the folder must not be used. */
export async function openEngineParts(options: OpenOptions): Promise<EngineParts> {
  const { objects, database } = options;
  if (objects !== undefined && database === undefined)
    throw new SheafError("failed_precondition", "an object store is of use beside a database only");
  const folder = new DataFolder(options.dataFolder);
  const archived = database === undefined ? openArchive(folder.path, options) : null;
  const ofData = createDiskSpace(folder.path, options);
  const disk = archived === null ? ofData : onBothDisks(ofData, archived.disk, archived.onFull);
  const largeWrites = new TurnLock();
  const shares = new SharedStores({ path: folder.path, disk, largeWrites, onTouch: options.onTouch });
  const { archive, catalog, logs, others, published, jobs } =
    database === undefined
      ? await openFolder(folder, { disk, shares, archive: archived?.archive ?? null }, options)
      : // Of no use, and none of its memory, on a server without a database.
        await (await import("./open-database.ts")).openDatabase(folder, database, options);
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
  { disk, shares: sharedStores, archive }: Pick<EngineParts, "archive" | "disk" | "shares">,
  { quotas = NO_QUOTAS, shareStores, log }: OpenOptions,
): Promise<Kept> {
  const shares = shareStores !== null;
  const avoid = (id: string): boolean => shares && sharedStores.isKept(id);
  const catalogOptions = { quotas, shares, avoid, log, archive };
  const catalog = await openCatalog(folder, disk, catalogOptions).catch(async (error: unknown) => {
    await archive?.close();
    throw error;
  });
  return { archive, catalog, logs: null, others: null, published: null, jobs: null };
}

interface OpenedArchive {
  readonly archive: Archive;
  readonly disk: DiskSpace;
  readonly onFull: (message: string) => void;
}

/** `null`: there is none, and what is written from now on will be in none. */
function openArchive(dataFolder: string, options: OpenOptions): OpenedArchive | null {
  const { archive: settings, diskReserve, log = () => {} } = options;
  if (settings === undefined) {
    Archive.leave(dataFolder);
    return null;
  }
  const { folder } = settings;
  const disk = createArchiveDisk({ folder, dataFolder, diskReserve });
  const refused = `make room in ${folder}, and writes go on by themselves; until then they are refused with 507`;
  const onFull = (message: string): void => log({ level: "error", message: `${message}; ${refused}` });
  const archive = Archive.open(settings, {
    ...{ dataFolder, disk },
    onNews: (message) => log({ level: "warn", message }),
    onProblem: (error) =>
      log({
        level: "error",
        message: isDiskFull(error)
          ? `the disk of the archive is full; ${refused}`
          : `the archive ${folder} cannot be written; writes are refused until it can be`,
        error: describeError(error),
      }),
  });
  const problem = disk.problem();
  if (problem !== null) onFull(`the disk of the archive is full: ${problem}`);
  return { archive, disk, onFull };
}

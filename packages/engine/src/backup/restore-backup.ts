/** Makes a data folder out of a backup. Nothing is written before every checksum has been found right and there is room. */
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { type PlannedReplay, type ReplayTarget, planReplay } from "../archive/plan-replay.ts";
import { acquireDataLock } from "../host/data-lock.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { RESTORING, refuseInDataFolder, writeRestoredFormat } from "../storage/folder/data-format.ts";
import { refuseInside } from "../storage/folder/lies-in.ts";
import { makeFolder } from "../storage/folder/make-folder.ts";
import { syncFile } from "../storage/folder/sync-files.ts";
import { writeDurably } from "../storage/folder/write-durably.ts";
import { BackedUpCollections, catalogOf } from "./backed-up-collections.ts";
import { BackupChild } from "./backup-child.ts";
import { type BackupHeader, readChain } from "./backup-files.ts";
import { whileRestoring } from "./naming-full-disk.ts";
import type { RestoredCollection } from "./restore-steps.ts";
import { requireRoom, requireTenant, roomForRestore } from "./restored-collections.ts";
import { type SoundCollections, soundCollections } from "./sound-collections.ts";
import { type VerificationProgress, type VerifiedBackup, lacking, verifyChain } from "./verify-backup.ts";

export interface RestoreRequest {
  readonly backup: string;
  /** Does not exist, or is empty. */
  readonly dataFolder: string;
  /** The only one to be restored; `null`: all. Damage that concerns others only is no reason to refuse it. */
  readonly tenant: string | null;
  /** Leaves out collections whose records are damaged. */
  readonly skipDamaged?: boolean | undefined;
  /** An archive that goes on from the backup, and up to when it is followed. */
  readonly archive?: { readonly folder: string; readonly until: ReplayTarget } | undefined;
  /** A collection whose records take more gets an environment of its own. Small ones are for tests. */
  readonly mostSharedBytes?: number;
  readonly onVerify?: (progress: VerificationProgress) => void;
  readonly onRestore?: (progress: RestoreProgress) => void;
}

export interface RestoreProgress {
  readonly collections: number;
  /** That the backup has; an archive may add some and drop others. */
  readonly totalCollections: number;
}

export interface RestoredFolder {
  readonly verified: VerifiedBackup;
  readonly collections: number;
  /** Collections that should be there and are not, and why: damaged when the backup was made, or since. */
  readonly missing: readonly string[];
  /** Collections that make their index again, and why the backup has none. */
  readonly withoutIndex: readonly string[];
  /** Damage that concerns other tenants only, or nobody. */
  readonly elsewhere: readonly string[];
  /** How far the archive was followed; `null`: there was none. */
  readonly replay: PlannedReplay | null;
}

/** What a restore that was interrupted may have left. */
const LEFT = new Set(["lock.json", "collections", "shared", "catalog", "trash"]);

/** Collections that share environments share commits, too, where they are restored together. */
const MOST_IN_A_BATCH = 1_024;
/** Of records. */
const BATCH_BYTES = 16 * 2 ** 20;
/** Of the parts of a collection, and of what an archive adds, whose records are read into memory to be put into a share: sixteen times what may lie there. */
const MOST_SHARED_BYTES = 64 * 2 ** 20;

/** Throws `failed_precondition` for a damaged backup, and for a folder that is in use or not empty; 404 without the tenant; `invalid_argument` for a folder in the backup, the archive or a data folder; `storage_full`. */
export function restoreBackup(request: RestoreRequest): Promise<RestoredFolder> {
  return whileRestoring(request.dataFolder, () => restoreWhole(request));
}

async function restoreWhole(request: RestoreRequest): Promise<RestoredFolder> {
  const { backup, dataFolder, tenant } = request;
  const folder = new DataFolder(dataFolder);
  const chain = await readChain(backup);
  for (const link of chain) refuseInside(dataFolder, link.folder, "backup");
  if (request.archive !== undefined) refuseInside(dataFolder, request.archive.folder, "archive");
  refuseInDataFolder(dataFolder);
  makeFolder(dataFolder);
  requireEmpty(folder);
  // One that the archive has made is found behind its entries only.
  if (tenant !== null && request.archive === undefined) requireTenant(catalogOf(chain), tenant);
  const { verified, damages } = await verifyChain(chain, request.onVerify);
  const sound = soundCollections(damages, { tenant, skipDamaged: request.skipDamaged === true });
  const { header } = verified;
  const replay = planned(request, header);
  const known = await BackedUpCollections.read(chain);
  const catalogBytes = header.catalog.reduce((sum, { bytes }) => sum + bytes, 0);
  const room = roomForRestore(known, catalogBytes, tenant ?? header.tenant);
  const lock = await acquireDataLock(folder.lockFile);
  const child = new BackupChild(lock.fd);
  try {
    requireEmpty(folder);
    await clear(folder);
    requireRoom(dataFolder, room.bytes);
    const restored = await restore(child, known, {
      ...{ ...request, sound, totalCollections: room.collections },
      grown: replay?.bytes ?? new Map(),
    });
    let { collections } = restored;
    const step = {
      ...{ catalog: catalogOf(chain), dataFolder },
      ...{ tenant: tenant ?? header.tenant, keys: header.keys },
    };
    if (replay !== null) {
      const { archive, from, to, voided } = replay;
      const without = [...restored.missing.keys()];
      collections = await child.ask("replayArchive", {
        ...{ ...step, without, replay: { archive, from, to, voided } },
      });
    }
    const { hasShares } = await child.ask("restoreCatalog", step);
    await rm(join(dataFolder, "trash"), { recursive: true, force: true });
    writeRestoredFormat(folder, hasShares);
    await rm(join(dataFolder, RESTORING));
    await syncFile(dataFolder);
    const missing = [...restored.missing.values()];
    const { withoutIndex } = restored;
    return { verified, collections, missing, withoutIndex, elsewhere: sound.elsewhere, replay };
  } catch (error) {
    // Nothing can come of it at another try.
    if (error instanceof SheafError && error.code === "not_found") await clear(folder, true);
    throw error;
  } finally {
    await child.close();
    lock.release();
  }
}

function planned({ archive }: RestoreRequest, header: BackupHeader): PlannedReplay | null {
  if (archive === undefined) return null;
  try {
    return planReplay(archive.folder, header, archive.until);
  } catch (error) {
    if (!(error instanceof SheafError) || error.code !== "failed_precondition") throw error;
    throw new SheafError(error.code, `nothing was restored: ${error.message}`, { cause: error });
  }
}

interface RestoredRequest extends RestoreRequest {
  readonly sound: SoundCollections;
  readonly totalCollections: number;
  /** Bytes that an archive adds to a collection. */
  readonly grown: ReadonlyMap<string, number>;
}

interface RestoredCollections {
  readonly collections: number;
  /** Ids of those that are not there, and why. */
  readonly missing: ReadonlyMap<string, string>;
  readonly withoutIndex: readonly string[];
}

async function restore(
  child: BackupChild,
  known: BackedUpCollections,
  { dataFolder, tenant, onRestore, totalCollections, grown, mostSharedBytes, sound }: RestoredRequest,
): Promise<RestoredCollections> {
  const missing = new Map<string, string>();
  const withoutIndex: string[] = [];
  let collections = 0;
  let waiting: RestoredCollection[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    await child.ask("restoreCollections", { dataFolder, collections: waiting });
    collections += waiting.length;
    [waiting, bytes] = [[], 0];
    onRestore?.({ collections, totalCollections });
  };
  for (const collection of known.all()) {
    const { id, sequence, isShared, parts, problem, indexProblem } = collection;
    if (tenant !== null && collection.tenant !== tenant) continue;
    const why = problem === null ? sound.reasonWithout(id) : lacking(collection, problem);
    if (why !== null) {
      missing.set(id, why);
      continue;
    }
    if (indexProblem !== undefined) withoutIndex.push(lacking(collection, indexProblem));
    const index = sound.hasIndex(id) ? collection.index : [];
    const files = index.map((file) => ({ name: file.name, path: known.indexFile(id, file) }));
    const size = parts.reduce((sum, part) => sum + part.bytes, grown.get(id) ?? 0);
    const shares = isShared && size <= (mostSharedBytes ?? MOST_SHARED_BYTES);
    waiting.push({ id, sequence, isShared: shares, store: known.partsOf(id), index: files });
    bytes += size;
    if (waiting.length === MOST_IN_A_BATCH || bytes >= BATCH_BYTES) await flush();
  }
  if (waiting.length > 0) await flush();
  return { collections, missing, withoutIndex };
}

/** Beside what an interrupted restore left. */
function requireEmpty({ path }: DataFolder): void {
  const isInterrupted = existsSync(join(path, RESTORING));
  const found = readdirSync(path).find(
    (name) =>
      name !== "lost+found" && !(isInterrupted ? LEFT.has(name) || name === RESTORING : name === "lock.json"),
  );
  if (found === undefined) return;
  throw new SheafError(
    "failed_precondition",
    `${path} is not empty: it holds ${found}; name a folder that is`,
  );
}

/** @param isOver No restore is under way, or to be run again. */
async function clear({ path }: DataFolder, isOver = false): Promise<void> {
  writeDurably(join(path, RESTORING), "");
  for (const name of readdirSync(path))
    if (LEFT.has(name) && name !== "lock.json") await rm(join(path, name), { recursive: true });
  if (isOver) await rm(join(path, RESTORING));
}

/** What is to be said of a backup, by its files alone. */
import type { BackupHeader } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";
import type { BackupReader, BackupShelf } from "./backup-shelf.ts";

export interface BackupStatus {
  readonly name: string;
  readonly state: "running" | "complete" | "failed";
  /** Milliseconds since 1970. */
  readonly started: number;
  readonly finished: number | null;
  readonly tenant: string | null;
  readonly incremental: string | null;
  /** With API keys, as digests. */
  readonly keys: boolean;
  /** Those that are copied. */
  readonly collections: number;
  /** Of how many; `null`: that is not known yet. */
  readonly totalCollections: number | null;
  readonly bytes: number;
  /** Collections that could not be copied. */
  readonly damaged: number;
  /** Collections that were copied without their index. */
  readonly withoutIndex: number;
  /** Why it failed. */
  readonly error: string | null;
}

/** As the routes describe it. */
export function backupReply(backup: BackupStatus): BackupReply {
  const { started, finished, totalCollections, withoutIndex, ...status } = backup;
  const time = (at: number): string => new Date(at).toISOString();
  const times = { started_at: time(started), finished_at: finished === null ? null : time(finished) };
  return { ...status, ...times, collections_total: totalCollections, without_index: withoutIndex };
}

export interface BackupReply extends Omit<
  BackupStatus,
  "started" | "finished" | "totalCollections" | "withoutIndex"
> {
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly collections_total: number | null;
  readonly without_index: number;
}

/** Of all that are there. */
export async function listShelf(shelf: BackupShelf): Promise<readonly BackupStatus[]> {
  const reader = shelf.reader();
  const statuses: BackupStatus[] = [];
  for (const name of await shelf.names()) {
    const status = await statusIn(reader, name);
    if (status !== null) statuses.push(status);
  }
  return newestFirst(statuses);
}

export function newestFirst(statuses: readonly BackupStatus[]): readonly BackupStatus[] {
  return statuses.toSorted((a, b) => b.started - a.started);
}

/** `null`: there is no complete backup of that name. */
export async function statusIn(reader: BackupReader, name: string): Promise<BackupStatus | null> {
  try {
    const status = statusOf(name, await reader.header(name));
    return { ...status, ...(await brokenChain(name, reader)) };
  } catch (error) {
    if (!(error instanceof SheafError)) throw error;
    if (error.code === "invalid_argument") return null;
    // A bucket that cannot be asked says nothing of the backup.
    if (error.code !== "failed_precondition") throw error;
    return { ...NOTHING, name, state: "failed", error: error.message };
  }
}

const NOTHING = {
  ...{ started: 0, finished: null, tenant: null, incremental: null, keys: false },
  ...{ collections: 0, totalCollections: null, bytes: 0, damaged: 0, withoutIndex: 0 },
} as const;

function statusOf(name: string, header: BackupHeader): BackupStatus {
  const { started, finished, tenant, base, keys, collections, bytes, damaged, withoutIndex = 0 } = header;
  const incremental = base === null ? null : (base.path.split("/").at(-1) ?? null);
  return {
    ...{ name, state: "complete", started, finished, tenant, incremental, keys, error: null },
    ...{ collections, totalCollections: collections, bytes, damaged, withoutIndex },
  };
}

/** What is to be said of a backup that cannot be restored, because one that it adds to is not there. */
async function brokenChain(
  name: string,
  reader: BackupReader,
): Promise<Pick<BackupStatus, "state" | "error"> | null> {
  try {
    await reader.requireChain(name);
    return null;
  } catch (error) {
    if (!(error instanceof SheafError) || error.code === "unavailable") throw error;
    return { state: "failed", error: `it cannot be restored: ${error.message}` };
  }
}

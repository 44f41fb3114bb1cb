/** Backups of a server: what it says of one, and what it is told to copy. */
import type { MembersOf } from "../require-known.ts";
import { NAME, type NameParams } from "./params.ts";

export interface Backup {
  readonly name: string;
  readonly state: "running" | "complete" | "failed";
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** The only one in it; `null`: all are. */
  readonly tenant: string | null;
  /** The backup that it adds to. */
  readonly incremental: string | null;
  /** Whether API keys are in it, as digests. */
  readonly keys: boolean;
  /** Those that are copied. */
  readonly collections: number;
  /** Of how many; `null` while that is not known, and where it failed. */
  readonly collectionsTotal: number | null;
  /** That it takes on the disk. */
  readonly bytes: number;
  /** Collections that could not be copied. */
  readonly damaged: number;
  /** Collections that were copied without their index, for a file of it cannot be read. A restore makes it again. */
  readonly withoutIndex: number;
  /** Why it failed. */
  readonly error: string | null;
}

export interface CreateBackupParams extends NameParams {
  /** Name of the backup to add to: only what has changed since is copied. */
  readonly incremental?: string | undefined;
  /** The only tenant to be copied. */
  readonly tenant?: string | undefined;
  /** With API keys, as digests; `true` if omitted. */
  readonly keys?: boolean | undefined;
}

export const CREATE_BACKUP: MembersOf<CreateBackupParams> = {
  incremental: true,
  tenant: true,
  keys: true,
  ...NAME,
};

/** As the server sends it. */
export interface BackupReply extends Omit<
  Backup,
  "startedAt" | "finishedAt" | "collectionsTotal" | "withoutIndex"
> {
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly collections_total: number | null;
  /** Left out by earlier versions. */
  readonly without_index?: number;
}

export function backupOf(reply: BackupReply): Backup {
  const { started_at, finished_at, collections_total, without_index: withoutIndex = 0, ...same } = reply;
  const finishedAt = finished_at === null ? null : new Date(finished_at);
  const startedAt = new Date(started_at);
  return { ...same, startedAt, finishedAt, collectionsTotal: collections_total, withoutIndex };
}

/** The folder that a backup is made in, by one process at a time. */
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  writeSync,
} from "node:fs";
import { rm, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { lockFile } from "../host/data-lock.ts";
import { makeFolder } from "../storage/folder/make-folder.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { syncFile } from "../storage/folder/sync-files.ts";
import { type Backup, UNFINISHED, isBackup } from "./backup-files.ts";
import { namingFullDisk } from "./naming-full-disk.ts";

/**
 * What a backup that was killed has left there is removed. Others are refused, with `failed_precondition`, until what it returns
 * is called.
 */
export async function prepareTarget(target: string, base: Backup | null): Promise<() => void> {
  if (existsSync(target) && (await stat(target)).isDirectory() && readdirSync(target).length > 0) {
    requireNone(target);
    if (!existsSync(join(target, UNFINISHED)))
      throw new SheafError("already_exists", `${basename(target)} holds other files already`);
  }
  makeFolder(target);
  const mark = openSync(join(target, UNFINISHED), constants.O_RDWR | constants.O_CREAT, OWNER_ONLY_FILE);
  try {
    if (isHeld(mark, target))
      throw new SheafError("failed_precondition", `${basename(target)} is being made by another process`);
    requireNone(target);
    await clearButMark(target);
    // Whoever removes backups sees by it that the base is needed. In place, so that the lock stays with the file.
    const text = base === null ? "" : relative(target, base.folder);
    writeSync(mark, text, 0);
    ftruncateSync(mark, Buffer.byteLength(text));
    fsyncSync(mark);
    await syncFile(target);
  } catch (error) {
    closeSync(mark);
    throw namingFullDisk(target, error);
  }
  return () => closeSync(mark);
}

/** But for the folder itself, which may be a mount; last what says that it is not finished. */
export async function clearBackup(folder: string): Promise<void> {
  await clearButMark(folder);
  await rm(join(folder, UNFINISHED), { recursive: true, force: true });
}

async function clearButMark(folder: string): Promise<void> {
  const names = readdirSync(folder).filter((name) => name !== UNFINISHED);
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}

function requireNone(target: string): void {
  if (isBackup(target)) throw new SheafError("already_exists", `${basename(target)} holds a backup already`);
}

function isHeld(mark: number, target: string): boolean {
  try {
    return !lockFile(mark, join(target, UNFINISHED));
  } catch {
    // The file system has no locks: two servers must not give their backups one name.
    return false;
  }
}

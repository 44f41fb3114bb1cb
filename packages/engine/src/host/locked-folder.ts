/**
 * Temporary folders that are there for as long as their process runs. One that is killed leaves its own, which the next process
 * removes: the kernel's lock on a file of it says whether anybody has it, between containers, too.
 */
import { closeSync, constants, openSync, readdirSync, renameSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { lockFile } from "./data-lock.ts";

const LOCK_FILE = "lock";
/** Until it is locked. */
const NEW_LOCK_FILE = "lock.new";

export interface LockedFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** Makes a folder of its own below `parent`, and removes those of the same prefix that nobody has any more. */
export async function makeLockedFolder(parent: string, prefix: string): Promise<LockedFolder> {
  for (const name of readdirSync(parent)) if (name.startsWith(prefix)) await removeLeft(join(parent, name));
  const path = await mkdtemp(join(parent, prefix));
  const file = join(path, NEW_LOCK_FILE);
  const fd = openSync(file, constants.O_RDWR | constants.O_CREAT, OWNER_ONLY_FILE);
  try {
    lockFile(fd, file);
    renameSync(file, join(path, LOCK_FILE));
  } catch {
    // The file system has no locks: should this process be killed, the folder stays.
  }
  const remove = async (): Promise<void> => {
    await rm(path, { recursive: true, force: true });
    closeSync(fd);
  };
  return { path, remove };
}

/** Nothing where somebody has it, it is another user's, or it is being made. */
async function removeLeft(path: string): Promise<void> {
  const file = join(path, LOCK_FILE);
  let fd: number;
  try {
    fd = openSync(file, "r+");
  } catch {
    return;
  }
  try {
    if (lockFile(fd, file)) await rm(path, { recursive: true, force: true });
  } catch {
    // It cannot be locked, or not be removed: it is left where it is.
  } finally {
    closeSync(fd);
  }
}

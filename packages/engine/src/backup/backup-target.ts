/** The folder that a backup is made in. */
import { existsSync, readdirSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { makeFolder } from "../storage/folder/make-folder.ts";
import { writeDurably } from "../storage/folder/write-durably.ts";
import { type Backup, UNFINISHED, isBackup } from "./backup-files.ts";

/** What a backup that was killed has left there is removed. */
export async function prepareTarget(target: string, base: Backup | null): Promise<void> {
  if (existsSync(target) && (await stat(target)).isDirectory() && readdirSync(target).length > 0) {
    const isLeft = existsSync(join(target, UNFINISHED)) && !isBackup(target);
    const what = isBackup(target) ? "a backup" : "other files";
    if (!isLeft) throw new SheafError("already_exists", `${basename(target)} holds ${what} already`);
    await clearBackup(target);
  }
  makeFolder(target);
  // Whoever removes backups sees by it that the base is needed.
  writeDurably(join(target, UNFINISHED), base === null ? "" : relative(target, base.folder));
}

/** But for the folder itself, which may be a mount; last what says that it is not finished. */
export async function clearBackup(folder: string): Promise<void> {
  const names = readdirSync(folder).filter((name) => name !== UNFINISHED);
  for (const name of [...names, UNFINISHED]) await rm(join(folder, name), { recursive: true, force: true });
}

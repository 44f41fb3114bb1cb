/** Removes a backup, unless another one that lies beside it adds to it. */
import { existsSync, readFileSync, readdirSync, realpathSync, renameSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { HEADER, UNFINISHED, isBackup, readHeader } from "./backup-files.ts";
import { clearBackup } from "./backup-target.ts";

/** What it was. */
export type RemovedBackup = "complete" | "unfinished";

/**
 * Removes one that was not finished, or not removed to its end, too, and the empty folder that one leaves that has failed. Throws `invalid_argument` where there is none,
 * `failed_precondition` where others need it, or where it cannot be told of one beside it whether it does.
 */
export async function removeBackup(folder: string): Promise<RemovedBackup> {
  const isLeft = !isBackup(folder) && (existsSync(join(folder, UNFINISHED)) || isEmpty(folder));
  const doomed = isLeft ? realpathSync(folder) : await requireUnneeded(folder);
  // It is no backup any more, wherever this is interrupted, and can be removed again. A full disk has room for this, too.
  if (!isLeft) renameSync(join(doomed, HEADER), join(doomed, UNFINISHED));
  await clearBackup(doomed);
  await rm(doomed, { recursive: true });
  if (resolve(folder) !== doomed) await rm(resolve(folder), { force: true });
  return isLeft ? "unfinished" : "complete";
}

/** Gives the folder itself. */
async function requireUnneeded(folder: string): Promise<string> {
  const { id } = await readHeader(folder);
  const doomed = realpathSync(folder);
  const needing: string[] = [];
  for (const name of readdirSync(dirname(doomed))) {
    const other = join(dirname(doomed), name);
    if (isFolder(other) && realpathSync(other) !== doomed && (await needs(other, { id, doomed })))
      needing.push(name);
  }
  refuseNeeded(basename(doomed), needing);
  return doomed;
}

/** Throws `failed_precondition` if there are any. */
export function refuseNeeded(name: string, needing: readonly string[]): void {
  if (needing.length > 0)
    throw new SheafError(
      "failed_precondition",
      `${name} is needed by ${needing.toSorted().join(", ")}, which would be lost with it: remove what adds to it first`,
    );
}

/** Whether a folder has a backup that adds to the one with the id, or will once it is finished. */
async function needs(
  folder: string,
  { id, doomed }: { readonly id: string; readonly doomed: string },
): Promise<boolean> {
  if (isBackup(folder)) return (await readHeader(folder)).base?.id === id;
  const base = unfinishedBase(folder);
  return base !== "" && existsSync(resolve(folder, base)) && realpathSync(resolve(folder, base)) === doomed;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isEmpty(path: string): boolean {
  return isFolder(path) && readdirSync(path).length === 0;
}

/** As the start of a backup notes it. */
function unfinishedBase(folder: string): string {
  const path = join(folder, UNFINISHED);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

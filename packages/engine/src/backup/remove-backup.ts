/** Removes a backup, unless another one that lies beside it adds to it. */
import { readFileSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { UNFINISHED, isBackup, readHeader } from "./backup-files.ts";

/** Throws `invalid_argument` where there is no complete backup, `failed_precondition` where others need it. */
export async function removeBackup(folder: string): Promise<void> {
  const doomed = resolve(folder);
  await readHeader(doomed);
  const needing: string[] = [];
  for (const entry of readdirSync(dirname(doomed), { withFileTypes: true })) {
    const other = join(dirname(doomed), entry.name);
    if (entry.isDirectory() && other !== doomed && (await baseOf(other)) === doomed) needing.push(entry.name);
  }
  if (needing.length > 0)
    throw new SheafError(
      "failed_precondition",
      `${basename(doomed)} is needed by ${needing.toSorted().join(", ")}, which would be lost with it: remove what adds to it first`,
    );
  // Without its header it is no backup any more, wherever this is interrupted.
  await rm(join(doomed, "backup.json"));
  await rm(doomed, { recursive: true });
}

/** Folder of the backup that one adds to, or will once it is finished; `null`: it is whole, or no backup that can be used. */
async function baseOf(folder: string): Promise<string | null> {
  if (isBackup(folder)) {
    const header = await readHeader(folder).catch(() => null);
    return header?.base == null ? null : resolve(folder, header.base.path);
  }
  const path = unfinishedBase(folder);
  return path === "" ? null : resolve(folder, path);
}

/** As the start of a backup notes it. */
function unfinishedBase(folder: string): string {
  try {
    return readFileSync(join(folder, UNFINISHED), "utf8");
  } catch {
    return "";
  }
}

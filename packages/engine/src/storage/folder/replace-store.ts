/** Puts a copy of an LMDB environment in its place: whatever is killed, the former file is there or the copy. */
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { syncFolders } from "./sync-files.ts";

/** Both are folders, on one file system. The copy is on disk, and no process has the original open. */
export function replaceStore(copyFolder: string, folder: string): void {
  const [copy, original] = [copyFolder, folder].map((path) => join(path, "data.mdb")) as [string, string];
  // An administrator may do this in the place of the server's user.
  const { mode, uid, gid } = statSync(original);
  chmodSync(copy, mode);
  const made = statSync(copy);
  if (made.uid !== uid || made.gid !== gid) chownSync(copy, uid, gid);
  renameSync(copy, original);
  syncFolders(folder);
}

/** Where there was none, or one that nothing leads to. Both are on one file system; a copy of nothing has no file. */
export function placeStore(copyFolder: string, folder: string): void {
  const copy = join(copyFolder, "data.mdb");
  if (!existsSync(copy)) return;
  mkdirSync(folder, { recursive: true });
  renameSync(copy, join(folder, "data.mdb"));
  syncFolders(folder);
}

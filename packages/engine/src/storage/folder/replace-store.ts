/** Puts a copy of an LMDB environment in the place of the original: whatever is killed, it is the one or the other. */
import { chmodSync, chownSync, renameSync, statSync } from "node:fs";
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

/** Folders for temporary files that backups pass through on their way to a bucket, or from there. */
import { tmpdir } from "node:os";
import { type LockedFolder, makeLockedFolder } from "../../host/locked-folder.ts";
import { namingFullDisk } from "../naming-full-disk.ts";

export const SPOOL_PREFIX = "sheaf-backup-";

/** Throws `storage_full` with the name of the folder that it would lie in. */
export async function makeSpool(): Promise<LockedFolder> {
  const above = tmpdir();
  try {
    return await makeLockedFolder(above, SPOOL_PREFIX);
  } catch (error) {
    throw namingFullDisk(above, error);
  }
}

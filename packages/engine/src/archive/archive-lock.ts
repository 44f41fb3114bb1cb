/** One server per archive. The lock is the kernel's, on a file that stays, and ends with the process that holds it. */
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { lockFile } from "../host/data-lock.ts";
import { makeFolder } from "../storage/folder/make-folder.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";

/** Makes the folder if it is needed. Gives what ends the lock. Throws `failed_precondition` while another server has it. */
export function lockArchive(folder: string): () => void {
  makeFolder(folder);
  const path = join(folder, "lock");
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, OWNER_ONLY_FILE);
  let isLocked = false;
  try {
    isLocked = lockFile(fd, path);
  } finally {
    if (!isLocked) closeSync(fd);
  }
  if (!isLocked)
    throw new SheafError(
      "failed_precondition",
      `the archive ${folder} is in use by another Sheaf server; stop that one, or use another folder`,
    );
  return () => closeSync(fd);
}

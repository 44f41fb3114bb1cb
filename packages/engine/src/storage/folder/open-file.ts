/**
 * Opens what must be a file for reading. A pipe or a device that lies in its place is refused: opening one would wait for
 * somebody to write, in a thread that others need, for ever.
 */
import { constants, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { SheafError } from "@sheaf/protocol";

const WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

/** Throws `failed_precondition` where there is something else. */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, WITHOUT_WAITING);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new SheafError("failed_precondition", `${path} is no file`);
}

/** A descriptor; reading it fails where there is something else. */
export function openFileSync(path: string): number {
  return openSync(path, WITHOUT_WAITING);
}

/** Says whose disk is full, and what to do. */
import { SheafError } from "@sheaf/protocol";
import { isDiskFull } from "../storage/folder/disk-space.ts";

/**
 * `storage_full` with the folder's name, and with how much is needed and free where that is known. Other errors as they are, and
 * those that name another disk.
 */
export function namingFullDisk(folder: string, error: unknown): unknown {
  const room = roomOf(error);
  if (room === null) return error;
  return new SheafError("storage_full", `the disk of ${folder} is full${room}`, { cause: error });
}

/** Throws `storage_full` with words for whoever runs the restore that this is a part of. */
export async function whileRestoring<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const room = roomOf(error)?.replace(" (--disk-reserve)", "");
    if (room === undefined) throw error;
    const message = `the disk of ${dataFolder} is full; make room and run the same restore again${room}`;
    throw new SheafError("storage_full", message, { cause: error });
  }
}

/** From the colon on, or nothing; `null`: no disk is full, or one that has a name. */
function roomOf(error: unknown): string | null {
  if (isDiskFull(error)) return "";
  if (!(error instanceof SheafError) || error.code !== "storage_full") return null;
  return /^the disk of the data folder is full(.*)$/su.exec(error.message)?.[1] ?? null;
}

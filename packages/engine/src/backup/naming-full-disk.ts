/** Says whose disk is full, and what to do. */
import { SheafError } from "@sheaf/protocol";
import { isDiskFull } from "../storage/folder/disk-space.ts";

/** Throws `storage_full` with words for whoever runs the restore that this is a part of. */
export async function namingFullDisk<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isFull = isDiskFull(error) || (error instanceof SheafError && error.code === "storage_full");
    if (!isFull) throw error;
    const message = `the disk of ${dataFolder} is full; make room and run the same restore again${roomOf(error)}`;
    throw new SheafError("storage_full", message, { cause: error });
  }
}

/** How much is needed and free, from the colon on, where the error says so. A restore has no option for the reserve. */
function roomOf(error: unknown): string {
  const [, room = ""] = error instanceof SheafError ? (/ is full(: .*)$/u.exec(error.message) ?? []) : [];
  return room.replace(" (--disk-reserve)", "");
}

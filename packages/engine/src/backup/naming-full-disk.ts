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
    const message = `the disk of ${dataFolder} is full; make room and run the same restore again`;
    throw new SheafError("storage_full", message, { cause: error });
  }
}

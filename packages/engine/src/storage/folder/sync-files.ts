/** Makes files that were written, and the names that lead to them, last. */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new file is only safe once the folders that name it are: its own, `<xx>` and `collections` above it. */
export function syncFolders(folder: string): void {
  for (const path of [folder, dirname(folder), dirname(dirname(folder))]) {
    const descriptor = openSync(path, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
}

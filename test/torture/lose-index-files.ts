/** Damages index files of collections, whether a server uses them or not: nothing may be lost by it but time. */
import { open, readFile, readdir, truncate, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Choices } from "./choices.ts";

/** Of the collections with files, at a time. */
const SHARE = 0.9;

type Loss = (path: string, choices: Choices) => Promise<void>;

const LOSSES: readonly Loss[] = [
  (path) => unlink(path),
  async (path, choices) => truncate(path, choices.below((await readFile(path)).length)),
  (path, choices) => overwrite(path, choices, 1),
  (path, choices) => overwrite(path, choices, 4_096),
];

/** Returns how many files were damaged. */
export async function loseIndexFiles(data: string, choices: Choices): Promise<number> {
  let lost = 0;
  for (const entry of await readdir(join(data, "collections"), { withFileTypes: true, recursive: true })) {
    if (entry.name !== "index" || !entry.isDirectory() || !choices.chance(SHARE)) continue;
    const folder = join(entry.parentPath, entry.name);
    const names = await readdir(folder).catch(() => []);
    const files = names.filter((name) => /[.](?:seg|dead)$|^manifest-\d+$/u.test(name));
    if (files.length === 0) continue;
    // The server may replace its files at any time.
    const isDone = choices
      .one(LOSSES)(join(folder, choices.one(files)), choices)
      .then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT") throw error;
          return false;
        },
      );
    if (await isDone) lost++;
  }
  return lost;
}

/** In place, so that who has it open reads other bytes. */
async function overwrite(path: string, choices: Choices, most: number): Promise<void> {
  const file = await open(path, "r+");
  try {
    const { size } = await file.stat();
    const at = choices.below(size);
    const bytes = Buffer.alloc(Math.min(most, size - at));
    await file.read(bytes, 0, bytes.length, at);
    await file.write(
      bytes.map((byte) => byte ^ (1 + choices.below(255))),
      0,
      bytes.length,
      at,
    );
  } finally {
    await file.close();
  }
}

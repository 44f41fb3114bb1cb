/** The space that a server takes on disk. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { sum } from "../../measure/statistics.ts";

const BLOCKS_PER_MEBIBYTE = 2_048;

/** MiB of all files below, as they are allocated: a sparse file counts what it holds. */
export async function folderMebibytes(
  folder: string,
  isCounted: (path: string) => boolean = () => true,
): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((file) => join(file.parentPath, file.name));
  const sizes = await Promise.all(files.filter(isCounted).map((file) => stat(file)));
  return sum(sizes.map(({ blocks }) => blocks)) / BLOCKS_PER_MEBIBYTE;
}

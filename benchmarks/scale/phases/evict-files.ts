/** Drops files from the page cache, so that the next process finds them on disk only. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

export interface Eviction {
  readonly method: string;
  /** MiB of the files in the page cache; `null` where `fincore` is missing. */
  readonly before: number | null;
  readonly after: number | null;
}

const METHOD =
  "sync, then dd iflag=nocache count=0 (posix_fadvise DONTNEED) for each file of the data folder";
const BYTES_PER_MEBIBYTE = 2 ** 20;

/** Of a folder whose files no process has open. */
export function evictFiles(folder: string): Eviction {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((file) => join(file.parentPath, file.name));
  const before = cachedMebibytes(files);
  // Pages that are not on disk yet stay in memory.
  execFileSync("sync", files);
  for (const file of files) execFileSync("dd", [`if=${file}`, "iflag=nocache", "count=0", "status=none"]);
  return { method: METHOD, before, after: cachedMebibytes(files) };
}

function cachedMebibytes(files: readonly string[]): number | null {
  try {
    const args = ["--bytes", "--noheadings", "--output", "RES", ...files];
    const lines = execFileSync("fincore", args, { encoding: "utf8" }).trim().split("\n");
    return lines.reduce((total, line) => total + Number(line), 0) / BYTES_PER_MEBIBYTE;
  } catch {
    return null;
  }
}

/** What the files of a folder hold, links not followed. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

export function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => lstatSync(join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}

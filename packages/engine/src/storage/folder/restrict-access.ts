/**
 * Takes the access of everybody but its owner from a data folder: folders are 0700 and files 0600, whoever made them.
 * Only what Sheaf keeps there is touched. Files with another name elsewhere (weights are linked from a cache that others
 * share) keep their mode; nobody else reaches them through a folder that is closed.
 */
import { type Stats, chmodSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { OWNER_ONLY_FOLDER } from "./make-folder.ts";

export const OWNER_ONLY_FILE = 0o600;
/** Read, write or run it, as one of its group or as anybody. */
const OTHERS = 0o077;
/** What Sheaf makes in a data folder. */
const OWN_FOLDERS: ReadonlySet<string> = new Set(["catalog", "collections", "trash", "models", "spool"]);
const OWN_FILES: ReadonlySet<string> = new Set([
  ...["format.json", "lock.json", "archive.json", "backups.json", "root-key"],
]);
/** A file system has it at its root. */
const LOST_AND_FOUND = "lost+found";

/** Returns sentences on what was left open to others, none where nothing was. */
export function restrictAccess(dataFolder: string): readonly string[] {
  const open: string[] = [];
  const entries = readdirSync(dataFolder, { withFileTypes: true });
  const foreign = entries.find(
    (entry) => entry.isDirectory() && !OWN_FOLDERS.has(entry.name) && entry.name !== LOST_AND_FOUND,
  );
  if (foreign === undefined) restrict(dataFolder, statSync(dataFolder), open);
  else if ((statSync(dataFolder).mode & OTHERS) !== 0) {
    open.push(`${dataFolder} is open to others, and was left so because it holds ${foreign.name} too`);
  }
  for (const { name } of entries) {
    if (OWN_FOLDERS.has(name) || OWN_FILES.has(name)) restrictTree(join(dataFolder, name), open);
  }
  return open;
}

function restrictTree(path: string, open: string[]): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) {
    restrict(path, found, open);
    for (const name of namesIn(path)) restrictTree(join(path, name), open);
  } else if (found.isFile() && found.nlink === 1) restrict(path, found, open);
}

/** A server that uses the folder may have removed it meanwhile. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

function restrict(path: string, found: Stats, open: string[]): void {
  if ((found.mode & OTHERS) === 0) return;
  try {
    chmodSync(path, found.isDirectory() ? OWNER_ONLY_FOLDER : OWNER_ONLY_FILE);
  } catch (error) {
    open.push(
      `${path} is open to others and cannot be closed: ${error instanceof Error ? error.message : ""}`,
    );
  }
}

/**
 * Makes a folder and those above it, for its owner alone, or says which of them cannot be made and why. Node's recursive
 * `mkdir` never returns where a file system takes no folders (/proc), and calls a parent on a read-only one missing.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { SheafError } from "@sheaf/protocol";

export const OWNER_ONLY_FOLDER = 0o700;

const REASONS: Readonly<Record<string, string>> = {
  EROFS: "the file system is read-only",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOENT: "the file system does not allow it",
  ENOSPC: "the disk is full",
  EDQUOT: "this user's disk quota is used up",
  ENAMETOOLONG: "the name is too long",
};

/** Throws `failed_precondition`. */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  let existing = resolve(path);
  for (; !isThere(path, existing); existing = dirname(existing)) missing.unshift(existing);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: OWNER_ONLY_FOLDER });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw refused(path, dirname(folder), error);
      // Another process may have been faster.
      if (!isThere(path, folder))
        throw new SheafError("invalid_argument", `${folder} is a link to what is not there; remove it`);
    }
  }
}

function isThere(path: string, folder: string): boolean {
  let found;
  try {
    found = statSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    // Something above it is no folder, and is found next.
    if (codeOf(error) === "ENOTDIR") return false;
    throw refused(path, folder, error);
  }
  if (found === undefined) return false;
  if (found.isDirectory()) return true;
  const obstacle = `${folder} is a file, not a folder`;
  const isItself = folder === resolve(path);
  throw new SheafError("invalid_argument", isItself ? obstacle : `cannot create folder ${path}: ${obstacle}`);
}

function refused(path: string, where: string, cause: unknown): SheafError {
  const code = codeOf(cause) ?? "";
  const reason = REASONS[code] ?? (cause instanceof Error ? cause.message : String(cause));
  return new SheafError("failed_precondition", `cannot create folder ${path}: ${reason} (${where})`, {
    cause,
  });
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

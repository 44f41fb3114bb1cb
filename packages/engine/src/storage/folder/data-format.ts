/**
 * `format.json`: the version of everything under the data folder. Written before anything else and checked before
 * anything is opened, so that an older Sheaf never touches data it would misread. A folder of an older version gets this
 * one when its catalog has been opened, before anything is written that the older Sheaf does not know.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { DataFolder } from "./data-folder.ts";
import { foldersAbove, refuseInside } from "./lies-in.ts";
import { makeFolder } from "./make-folder.ts";
import { writeDurably } from "./write-durably.ts";

export const DATA_FORMAT_NAME = "sheaf-data";
/**
 * 2: change keys in collections, and files of their indexes. 3: what leads to API keys and resource names. 4: collections
 * that share environments.
 */
const DATA_FORMAT_VERSION = 4;
/** Of a folder in which no collection has ever shared an environment, and of the catalog of every backup. */
export const VERSION_WITHOUT_SHARES = 3;
const MADE = "made";
/** Stands in a folder that a backup is being restored to. */
export const RESTORING = "restoring";

/** Makes the folder ready or throws `failed_precondition` with what stands in the way. */
export function prepareDataFormat(folder: DataFolder): void {
  makeFolder(folder.path);
  if (existsSync(join(folder.path, RESTORING)))
    throw refused(`a restore to ${folder.path} was interrupted: run \`sheaf restore\` again`);
  if (existsSync(folder.formatFile)) return checkFormat(folder.formatFile);
  if (existsSync(folder.catalog)) throw refused(`${folder.formatFile} is missing beside existing data`);
  writeFormat(folder, { version: VERSION_WITHOUT_SHARES });
}

/** Whether the folder has had a catalog: one that is missing or empty then is lost, not new. */
export function hadCatalog(folder: DataFolder): boolean {
  return readFormat(folder.formatFile).catalog === MADE;
}

/**
 * From now on the folder has a catalog, and may hold all that this version knows; collections that share environments only
 * where it `shares`, or has before. Returns the version that it had and the one it has. Throws `failed_precondition` where
 * that cannot be written.
 */
export function completeDataFormat(
  folder: DataFolder,
  shares: boolean,
): { readonly before: number; readonly after: number } {
  const { version, catalog } = readFormat(folder.formatFile);
  const before = Number(version);
  const after = Math.max(before, shares ? DATA_FORMAT_VERSION : VERSION_WITHOUT_SHARES);
  if (before === after && catalog === MADE) return { before, after };
  try {
    writeFormat(folder, { version: after, catalog: MADE });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SheafError("failed_precondition", `${folder.formatFile} cannot be written: ${reason}`, {
      cause: error,
    });
  }
  return { before, after };
}

/** Of a folder that has everything now. `hasShares`: there are collections that share environments. */
export function writeRestoredFormat(folder: DataFolder, hasShares: boolean): void {
  writeFormat(folder, { version: hasShares ? DATA_FORMAT_VERSION : VERSION_WITHOUT_SHARES, catalog: MADE });
}

function writeFormat(
  folder: DataFolder,
  fields: { readonly version: number; readonly catalog?: string },
): void {
  writeDurably(folder.formatFile, `${JSON.stringify({ format: DATA_FORMAT_NAME, ...fields })}\n`);
}

/** Throws `invalid_argument` where there is no data folder, `failed_precondition` where this version does not read it. */
export function checkDataFormat(folder: DataFolder): void {
  if (!existsSync(folder.formatFile))
    throw new SheafError(
      "invalid_argument",
      `${folder.path} is no data folder of Sheaf: it has no format.json`,
    );
  checkFormat(folder.formatFile);
}

/** Throws `invalid_argument` for what would be made in a data folder, in use or not, and could go with it. */
export function refuseInDataFolder(path: string): void {
  for (const above of foldersAbove(path)) if (isDataFolder(above)) refuseInside(path, above, "data folder");
}

function isDataFolder(path: string): boolean {
  const { formatFile } = new DataFolder(path);
  try {
    return existsSync(formatFile) && readFormat(formatFile).format === DATA_FORMAT_NAME;
  } catch {
    // A file of this name that somebody else has.
    return false;
  }
}

function checkFormat(path: string): void {
  const { format, version } = readFormat(path);
  if (
    format !== DATA_FORMAT_NAME ||
    typeof version !== "number" ||
    !Number.isInteger(version) ||
    version < 1
  ) {
    throw refused(`${path} does not describe a data folder of Sheaf; ${remedyFor(path)}`);
  }
  if (version > DATA_FORMAT_VERSION) {
    throw refused(
      `${path} names data format ${version}, made by a newer Sheaf; this one reads up to ${DATA_FORMAT_VERSION}`,
    );
  }
}

interface FormatFields {
  readonly format?: unknown;
  readonly version?: unknown;
  readonly catalog?: unknown;
}

function readFormat(path: string): FormatFields {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch (error) {
    const reason = error instanceof SyntaxError ? `is damaged; ${remedyFor(path)}` : "cannot be read";
    throw new SheafError("failed_precondition", `${path} ${reason}`, { cause: error });
  }
}

/** `path`: of the file. */
function remedyFor(path: string): string {
  const hasShares = existsSync(join(dirname(path), "shared"));
  const version = hasShares ? DATA_FORMAT_VERSION : VERSION_WITHOUT_SHARES;
  return (
    "restore it from a backup; without one, if this version has served the folder, write this line to it: " +
    JSON.stringify({ format: DATA_FORMAT_NAME, version, catalog: MADE })
  );
}

function refused(message: string): SheafError {
  return new SheafError("failed_precondition", message);
}

/**
 * `format.json`: the version of everything under the data folder. Written before anything else and checked before
 * anything is opened, so that an older Sheaf never touches data it would misread.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { SheafError } from "@sheaf/protocol";
import type { DataFolder } from "./data-folder.ts";
import { makeFolder } from "./make-folder.ts";
import { OWNER_ONLY_FILE } from "./restrict-access.ts";

export const DATA_FORMAT_NAME = "sheaf-data";
export const DATA_FORMAT_VERSION = 1;
const MADE = "made";

/** Makes the folder ready or throws `failed_precondition` with what stands in the way. */
export function prepareDataFormat(folder: DataFolder): void {
  makeFolder(folder.path);
  if (existsSync(folder.formatFile)) return checkFormat(folder.formatFile);
  if (existsSync(folder.catalog)) throw refused(`${folder.formatFile} is missing beside existing data`);
  writeFormat(folder, {});
}

/** Whether the folder has had a catalog: one that is missing or empty then is lost, not new. */
export function hadCatalog(folder: DataFolder): boolean {
  return readFormat(folder.formatFile).catalog === MADE;
}

export function rememberCatalog(folder: DataFolder): void {
  if (!hadCatalog(folder)) writeFormat(folder, { catalog: MADE });
}

function writeFormat(folder: DataFolder, more: { readonly catalog?: string }): void {
  const text = JSON.stringify({ format: DATA_FORMAT_NAME, version: DATA_FORMAT_VERSION, ...more });
  writeDurably(folder.formatFile, `${text}\n`);
}

/** Throws `failed_precondition` unless there is a data folder that this version reads. */
export function checkDataFormat(folder: DataFolder): void {
  if (!existsSync(folder.formatFile))
    throw refused(`${folder.path} is no data folder of Sheaf: it has no format.json`);
  checkFormat(folder.formatFile);
}

function checkFormat(path: string): void {
  const { format, version } = readFormat(path);
  if (
    format !== DATA_FORMAT_NAME ||
    typeof version !== "number" ||
    !Number.isInteger(version) ||
    version < 1
  ) {
    throw refused(`${path} does not describe a data folder of Sheaf`);
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
    throw new SheafError("failed_precondition", `${path} cannot be read`, { cause: error });
  }
}

function refused(message: string): SheafError {
  return new SheafError("failed_precondition", message);
}

/** Whole or not there at all, after a crash too. */
function writeDurably(path: string, text: string): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, text, { flush: true, mode: OWNER_ONLY_FILE });
  renameSync(temporary, path);
  const descriptor = openSync(dirname(path), "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

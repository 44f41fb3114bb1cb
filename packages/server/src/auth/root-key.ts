/**
 * The root key: the operator's own (never stored), else one made at the first start and kept in the data folder,
 * readable by its owner only.
 *
 * Invariant: the key file appears complete or not at all, and of two servers that start at once both read the same.
 */
import { randomUUID } from "node:crypto";
import { link, open, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { SettingError } from "../settings/setting-error.ts";
import { makeKey } from "./make-key.ts";

export const ROOT_KEY_FILE = "root-key";
const OWNER_ONLY = 0o600;
/** A header loses spaces at its ends, so a key cannot have them there. */
const PRINTABLE = /^[\x21-\x7e][\x20-\x7e]{14,510}[\x21-\x7e]$/;

export interface RootKey {
  readonly key: string;
  /** Where it is kept. */
  readonly file: string;
  /** By this start; else it was there before. */
  readonly isNew: boolean;
}

/** Whether a text can be a root key: 16 to 512 printable ASCII characters, none of its ends a space. */
export function isRootKey(text: string): boolean {
  return PRINTABLE.test(text);
}

/** Reads the key of the data folder, which is there, or makes it. */
export async function loadRootKey(dataFolder: string): Promise<RootKey> {
  const path = join(dataFolder, ROOT_KEY_FILE);
  const existing = await readKeyFile(path);
  if (existing !== null) return { key: existing, file: path, isNew: false };
  const made = makeKey();
  if (await createKeyFile(dataFolder, path, made)) return { key: made, file: path, isNew: true };
  const other = await readKeyFile(path);
  if (other === null) throw new SettingError(`${path} was made and removed by another process; start again`);
  return { key: other, file: path, isNew: false };
}

/** The file of a key that the operator's own takes the place of; `null`: there is none, or it has the same key. */
export async function replacedRootKey(dataFolder: string, own: string): Promise<string | null> {
  const path = join(dataFolder, ROOT_KEY_FILE);
  const text = await readFile(path, "utf8").catch(() => null);
  return text === null || text.trim() === own ? null : path;
}

async function readKeyFile(path: string): Promise<string | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isSystemError(error, "ENOENT")) return null;
    throw error;
  }
  const key = text.trim();
  if (!isRootKey(key)) throw new SettingError(`${path} holds no root key; remove it to have a new one made`);
  return key;
}

/** `false`: another process was first. */
async function createKeyFile(dataFolder: string, path: string, key: string): Promise<boolean> {
  const temporary = join(dataFolder, `.${ROOT_KEY_FILE}.${randomUUID()}`);
  const file = await open(temporary, "wx", OWNER_ONLY);
  try {
    await file.writeFile(`${key}\n`);
    await file.sync();
    // A link, not a rename: it fails where the name is taken.
    await link(temporary, path);
    return true;
  } catch (error) {
    if (isSystemError(error, "EEXIST")) return false;
    throw error;
  } finally {
    await file.close();
    await unlink(temporary);
  }
}

function isSystemError(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

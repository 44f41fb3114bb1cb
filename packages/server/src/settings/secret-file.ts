/** Secrets that settings name a file of. The text itself stays out of every message. */
import { readFileSync, statSync } from "node:fs";
import { isRootKey } from "../auth/root-key.ts";
import { SettingError } from "./setting-error.ts";

/** Far more than any key, token or chain of certificates takes. */
const MOST_BYTES = 1024 * 1024;

/** The text without a line break at its end. Throws a `SettingError` that names the file. */
export function readSecretFile(path: string): string {
  return readSmallFile(path).replace(/\r?\n$/u, "");
}

/** Throws a `SettingError` that names the file: a device, or a file of gigabytes, is read by no server. */
export function readSmallFile(path: string): string {
  let text: string;
  try {
    const file = statSync(path);
    if (!file.isFile()) throw new SettingError(`${path} is no file`);
    if (file.size > MOST_BYTES) throw new SettingError(`${path} has more than ${MOST_BYTES} bytes`);
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof SettingError) throw error;
    const [reason] = String(error instanceof Error ? error.message : error).split(", ");
    throw new SettingError(`${path} cannot be read: ${reason}`, { cause: error });
  }
  if (text.trim() === "") throw new SettingError(`${path} is empty`);
  return text;
}

export function parseRootKey(text: string): string {
  if (!isRootKey(text)) throw new SettingError("must be 16 to 512 printable ASCII characters");
  return text;
}

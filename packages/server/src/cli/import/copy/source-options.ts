/** Options that say where records come from. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { SettingError } from "../../../settings/setting-error.ts";

/** Without a slash at its end. */
export function requireSourceUrl(url: string | undefined): string {
  if (url === undefined) throw new SettingError("--url is required");
  if (!/^https?:\/\//iu.test(url) || !URL.canParse(url))
    throw new SettingError(`"${url}" is not a URL of a server`);
  return url.replace(/\/+$/u, "");
}

/** What is in the file that an option names. */
export function readSecret(option: string, file: string | undefined): string | null {
  if (file === undefined) return null;
  try {
    return readFileSync(resolve(file), "utf8").trim();
  } catch (cause) {
    throw new SettingError(`${option}: ${file} cannot be read`, { cause });
  }
}

/** The text of a setting that counts something. */
import { SettingError } from "./setting-error.ts";

export function parseCount(text: string, least = 0, most = Number.MAX_SAFE_INTEGER): number {
  const count = Number(text);
  if (!/^\d{1,16}$/.test(text) || count < least || count > most)
    throw new SettingError(`must be a whole number, ${least} to ${most}`);
  return count;
}

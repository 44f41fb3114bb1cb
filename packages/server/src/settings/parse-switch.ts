/** The text of a setting that is on or off. Other systems write other words for it, and so do those who come from there. */
import { SettingError } from "./setting-error.ts";

export function parseSwitch(text: string, expected = "on or off"): boolean {
  const word = text.toLowerCase();
  if (["on", "true", "1", "yes"].includes(word)) return true;
  if (["off", "false", "0", "no"].includes(word)) return false;
  throw new SettingError(`must be ${expected}`);
}

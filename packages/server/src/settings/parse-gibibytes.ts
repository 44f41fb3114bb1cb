/** The text of a setting that is an amount of memory; returns bytes. */
import { SettingError } from "./setting-error.ts";

const GIBIBYTE = 2 ** 30;

export function parseGibibytes(text: string): number {
  const value = Number(text);
  if (!/^\d+(?:\.\d+)?$/u.test(text) || value <= 0) {
    throw new SettingError("must be a number of GiB above 0, such as 8 or 2.5");
  }
  return Math.floor(value * GIBIBYTE);
}

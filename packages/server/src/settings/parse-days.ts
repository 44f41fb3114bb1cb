import { SettingError } from "./setting-error.ts";

const MOST_DAYS = 3_650;
const LEAST_MS = 1_000;
const MS_PER_DAY = 86_400_000;

/** Days, fractions included, as milliseconds. */
export function parseDays(text: string): number {
  const days = Number(text);
  if (!/^\d+(?:\.\d+)?$/u.test(text) || days * MS_PER_DAY < LEAST_MS || days > MOST_DAYS)
    throw new SettingError(`must be a number of days above 0 and up to ${MOST_DAYS}, such as 7 or 0.5`);
  return days * MS_PER_DAY;
}

import { SettingError } from "./setting-error.ts";

/** Of the time until what is deleted is gone: with less the server would do little else. */
const LEAST_MS = 1_000;
const MOST_DAYS = 3_650;
const MS_PER_DAY = 86_400_000;

/** Days, fractions included, as milliseconds. */
export function parseDays(text: string): number {
  return daysOf(text, "such as 7 or 0.5");
}

/** Days, as milliseconds; `null`: never. */
export function parsePurgeAfter(text: string): number | null {
  return text === "off" ? null : daysOf(text, "such as 7 or 0.5, or off");
}

function daysOf(text: string, examples: string): number {
  const days = Number(text);
  if (!/^\d+(?:\.\d+)?$/u.test(text) || days * MS_PER_DAY < LEAST_MS || days > MOST_DAYS)
    throw new SettingError(`must be a number of days above 0 and up to ${MOST_DAYS}, ${examples}`);
  return days * MS_PER_DAY;
}

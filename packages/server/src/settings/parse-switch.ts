/** The text of a setting that is on or off. Other systems write other words for it, and so do those who come from there. */
import type { IndexSettings } from "@sheaf/engine";
import { SettingError } from "./setting-error.ts";

export function parseSwitch(text: string, expected = "on or off"): boolean {
  const word = text.toLowerCase();
  if (["on", "true", "1", "yes"].includes(word)) return true;
  if (["off", "false", "0", "no"].includes(word)) return false;
  throw new SettingError(`must be ${expected}`);
}

/** A switch with more positions, for index files: on, off, with the indexer process, or the rows of segments. */
export function parseIndexSettings(text: string): IndexSettings {
  if (text === "indexer") return { files: true, indexer: true };
  const sizes = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/u.exec(text);
  if (sizes === null)
    return { files: parseSwitch(text, "on, off, indexer, or two numbers of rows such as 32/128") };
  const [mutableRows, sealedRows] = [Number(sizes[1]), Number(sizes[2])];
  if (mutableRows % 32 !== 0 || sealedRows < mutableRows || sealedRows > 131_072)
    throw new SettingError("must be a multiple of 32 and at least as many rows, up to 131072: 32/128");
  return { files: true, sizes: { denseRows: mutableRows, sizes: { mutableRows, sealedRows } } };
}

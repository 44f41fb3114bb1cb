import { SettingError } from "./setting-error.ts";

/** The path of a folder, there or not. */
export function parseFolder(text: string): string {
  if (text.trim() === "") throw new SettingError("must be the path of a folder");
  return text;
}

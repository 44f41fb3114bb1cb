import { SettingError } from "./setting-error.ts";

/** The path of a folder, there or not. */
export function parseFolder(text: string): string {
  if (text.trim() === "") throw new SettingError("must be the path of a folder");
  if (/^~(?:\/|\\|$)/u.test(text))
    throw new SettingError(
      `${text}: only a shell knows what ~ stands for, and there is none here; write the whole path`,
    );
  return text;
}

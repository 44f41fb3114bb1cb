/** The file of `--config`: settings by the names of their flags, or by their variables where they have no flag. */
import type { Setting, Settings } from "../config.ts";
import { SettingError } from "./setting-error.ts";
import { readSettingsFile } from "./settings-file.ts";

export interface ConfigFile {
  readonly path: string;
  /** As an operator would write them behind a flag. */
  readonly texts: { readonly [name in keyof Settings]?: string };
}

type Table = Readonly<Record<string, Setting>>;

/** Files of settings are read by others, and copied; these have files of their own. */
const SECRETS: Readonly<Record<string, string>> = { rootKey: "root-key-file", hfToken: "hf-token-file" };

/** Throws a `SettingError` that names the file and what is wrong in it. */
export async function readConfigFile(path: string, table: Table): Promise<ConfigFile> {
  const parsed = await readSettingsFile(path, "settings");
  const texts = Object.entries(parsed).map(([key, value]) => {
    const name = settingOf(key, table);
    if (name === null) throw new SettingError(`${path}: "${key}" is no setting`);
    if (name === "configFile") throw new SettingError(`${path}: "${key}" cannot be set in the file itself`);
    const file = SECRETS[name];
    if (file !== undefined)
      throw new SettingError(`${path}: "${key}" is a secret; name a file that holds it by "${file}"`);
    return [name, textOf(`${path}: ${key}`, value)];
  });
  return { path, texts: Object.fromEntries(texts) as ConfigFile["texts"] };
}

function settingOf(key: string, table: Table): string | null {
  const found = Object.entries(table).find(([, { flag, env }]) => (flag?.name ?? env) === key);
  return found?.[0] ?? null;
}

function textOf(place: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "on" : "off";
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(",");
  throw new SettingError(`${place}: must be text, a number, true or false, or a list of texts`);
}

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

/**
 * Throws a `SettingError` that names the file and what is wrong in it. Values are parsed by whoever takes them; here only those
 * that `isReplaced`, which nobody takes: to parse may be to read a file, such as that of a secret.
 */
export async function readConfigFile(
  path: string,
  table: Table,
  isReplaced: (name: keyof Settings) => boolean,
): Promise<ConfigFile> {
  const parsed = await readSettingsFile(path, "settings");
  const texts = Object.entries(parsed).map(([key, value]) => {
    const name = settingOf(key, table);
    if (name === null) throw new SettingError(`${path}: "${key}" is no setting${secretHint(key)}`);
    if (name === "configFile") throw new SettingError(`${path}: "${key}" cannot be set in the file itself`);
    const file = SECRETS[name];
    if (file !== undefined)
      throw new SettingError(`${path}: "${key}" is a secret; name a file that holds it by "${file}"`);
    const setting = table[name]!;
    const text = textOf(`${path}: ${key}`, value, setting);
    if (isReplaced(name as keyof Settings)) requireValid(`${path}: ${key}`, text, setting);
    return [name, text];
  });
  return { path, texts: Object.fromEntries(texts) as ConfigFile["texts"] };
}

function settingOf(key: string, table: Table): string | null {
  const found = Object.entries(table).find(([, { flag, env }]) => (flag?.name ?? env) === key);
  return found?.[0] ?? null;
}

function secretHint(key: string): string {
  const file = `${key}-file`;
  return Object.values(SECRETS).includes(file)
    ? `; a secret stands in a file of its own, named by "${file}"`
    : "";
}

function requireValid(place: string, text: string, setting: Setting): void {
  try {
    setting.parse(text);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw new SettingError(`${place}: ${error.message}`, { cause: error });
  }
}

function textOf(place: string, value: unknown, { isList = false }: Setting): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "on" : "off";
  if (isList && Array.isArray(value) && value.every((item) => typeof item === "string"))
    return value.join(",");
  throw new SettingError(
    `${place}: must be text, a number, true or false${isList ? ", or a list of texts" : ""}`,
  );
}

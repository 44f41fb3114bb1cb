/** The operator's JSON file of model folders: `{"<model identifier>": {"path", "revision"?}}`. */
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ConfiguredModel } from "@sheaf/inference";
import { describeUnknownModel, kindOfModel } from "@sheaf/protocol";
import { SettingError } from "./settings/setting-error.ts";
import { isObject, readSettingsFile } from "./settings/settings-file.ts";

export type ModelFolders = Readonly<Record<string, ConfiguredModel>>;

/** Folders are relative to the file. Throws a `SettingError` that names the file and what is wrong. */
export async function readModelsFile(path: string): Promise<ModelFolders> {
  const parsed = await readSettingsFile(path, "model identifiers");
  return Object.fromEntries(
    Object.entries(parsed).map(([identifier, entry]) => {
      if (kindOfModel(identifier) === null) {
        throw new SettingError(`${path}: ${describeUnknownModel(identifier)}`);
      }
      const model = readEntry(entry, dirname(path));
      if (model !== null) return [identifier, model];
      throw new SettingError(
        `${path}: "${identifier}" must be an object with "path" and optionally "revision", both strings`,
      );
    }),
  );
}

/**
 * For a server, which would only find out at the first request. A folder that is there and lacks files is none of this:
 * somebody may be copying them, and a running server finds them. Throws a `SettingError`.
 */
export function requireModelFolders(file: string, models: ModelFolders): void {
  for (const [identifier, { path }] of Object.entries(models)) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) continue;
    throw new SettingError(`${file}: the folder of "${identifier}" does not exist: ${path}`);
  }
}

function readEntry(entry: unknown, base: string): ConfiguredModel | null {
  if (!isObject(entry)) return null;
  const path = entry["path"];
  const revision = entry["revision"];
  if (typeof path !== "string" || path === "") return null;
  if (revision === undefined) return { path: resolve(base, path) };
  return typeof revision === "string" ? { path: resolve(base, path), revision } : null;
}

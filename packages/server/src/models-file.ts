/** The operator's JSON file of model folders: `{"<model identifier>": {"path", "revision"?}}`. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { ConfiguredModel } from "@sheaf/inference";
import { SettingError } from "./setting-error.ts";

export type ModelFolders = Readonly<Record<string, ConfiguredModel>>;

/** Folders are relative to the file. Throws a `SettingError` that names the file and what is wrong. */
export async function readModelsFile(path: string): Promise<ModelFolders> {
  const parsed = parseJson(path, await readText(path));
  if (!isObject(parsed)) throw new SettingError(`${path}: must be a JSON object of model identifiers`);
  return Object.fromEntries(
    Object.entries(parsed).map(([identifier, entry]) => {
      const model = readEntry(entry, dirname(path));
      if (model !== null) return [identifier, model];
      throw new SettingError(
        `${path}: "${identifier}" must be an object of "path" and, at will, "revision", both text`,
      );
    }),
  );
}

function readEntry(entry: unknown, base: string): ConfiguredModel | null {
  if (!isObject(entry)) return null;
  const path = entry["path"];
  const revision = entry["revision"];
  if (typeof path !== "string" || path === "") return null;
  if (revision === undefined) return { path: resolve(base, path) };
  return typeof revision === "string" ? { path: resolve(base, path), revision } : null;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new SettingError(`the models file ${path} cannot be read`, { cause: error });
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SettingError(`${path}: is not valid JSON`, { cause: error });
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

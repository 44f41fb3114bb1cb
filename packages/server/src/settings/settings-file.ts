/** JSON files that settings name: an object whose entries the caller reads one by one. */
import { readFile } from "node:fs/promises";
import { SheafError, readJson } from "@sheaf/protocol";
import { SettingError } from "./setting-error.ts";

type Entries = Readonly<Record<string, unknown>>;

/** @param holds For messages: what the object's entries are. Throws a `SettingError` that names the file. */
export async function readSettingsFile(path: string, holds: string): Promise<Entries> {
  const parsed = parseJson(path, await readText(path, holds));
  if (!isObject(parsed)) throw new SettingError(`${path}: must be a JSON object of ${holds}`);
  return parsed;
}

export function isObject(value: unknown): value is Entries {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function readText(path: string, holds: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    // Such as "ENOENT: no such file or directory, open '…'", which would name the path twice.
    const [reason] = String(error instanceof Error ? error.message : error).split(", ");
    throw new SettingError(`the file of ${holds} ${path} cannot be read: ${reason}`, { cause: error });
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    // It says in which line, and refuses what stands twice.
    readJson(new TextEncoder().encode(text));
    return JSON.parse(text);
  } catch (error) {
    const said = error instanceof SheafError ? error.message : "is not valid JSON";
    const reason = said.replace("Failed to parse the request body as JSON", "is not valid JSON");
    throw new SettingError(`${path}: ${reason}`, { cause: error });
  }
}

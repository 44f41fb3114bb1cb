/** The operator's JSON file of tasks: `{"<task>": {"documents": "<sentence>", "query": "<sentence>"}}`. */
import { readFile } from "node:fs/promises";
import { DEFAULT_TASKS, type TaskInstructions, type TaskTable } from "@sheaf/protocol";
import { SettingError } from "./setting-error.ts";

/** The built-in tasks and those of the file, which win. Throws a `SettingError` that names the file and the task. */
export async function readTasksFile(path: string): Promise<TaskTable> {
  const parsed = parseJson(path, await readText(path));
  if (!isObject(parsed)) throw new SettingError(`${path}: must be a JSON object of tasks`);
  const own = Object.entries(parsed).map(([task, entry]) => {
    const instructions = task === "" ? null : readTask(entry);
    if (instructions !== null) return [task, instructions] as const;
    throw new SettingError(`${path}: "${task}" must be an object of "documents" and "query", both text`);
  });
  return Object.freeze({ ...DEFAULT_TASKS, ...Object.fromEntries(own) });
}

function readTask(entry: unknown): TaskInstructions | null {
  if (!isObject(entry)) return null;
  const { documents = "", query = "" } = entry;
  if (typeof documents !== "string" || typeof query !== "string") return null;
  return Object.freeze({ documents, query });
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new SettingError(`the tasks file ${path} cannot be read`, { cause: error });
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

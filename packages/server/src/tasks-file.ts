/** The operator's JSON file of tasks: `{"<task>": {"documents": "<sentence>", "query": "<sentence>"}}`. */
import { DEFAULT_TASKS, type TaskInstructions, type TaskTable } from "@sheaf/protocol";
import { SettingError } from "./settings/setting-error.ts";
import { isObject, readSettingsFile } from "./settings/settings-file.ts";

/** The built-in tasks and those of the file, which win. Throws a `SettingError` that names the file and the task. */
export async function readTasksFile(path: string): Promise<TaskTable> {
  const parsed = await readSettingsFile(path, "tasks");
  const own = Object.entries(parsed).map(([task, entry]) => {
    const instructions = task === "" ? null : readTask(entry);
    if (instructions !== null) return [task, instructions] as const;
    throw new SettingError(
      `${path}: "${task}" must be an object with "documents" and "query", both strings, and no other member`,
    );
  });
  return Object.freeze({ ...DEFAULT_TASKS, ...Object.fromEntries(own) });
}

function readTask(entry: unknown): TaskInstructions | null {
  if (!isObject(entry)) return null;
  const { documents = "", query = "", ...others } = entry;
  if (Object.keys(others).length > 0) return null;
  if (typeof documents !== "string" || typeof query !== "string") return null;
  return Object.freeze({ documents, query });
}

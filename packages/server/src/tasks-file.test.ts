import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_TASKS, type TaskTable } from "@sheaf/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SettingError } from "./settings/setting-error.ts";
import { readTasksFile } from "./tasks-file.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-tasks-file-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function read(text: string): Promise<TaskTable> {
  const path = join(folder, "tasks.json");
  await writeFile(path, text);
  return readTasksFile(path);
}

describe("readTasksFile", () => {
  it("adds to the built-in tasks, and replaces one of the same name", async () => {
    expect(await read('{"faq": {"query": "Find the answer"}}')).toEqual({
      ...DEFAULT_TASKS,
      faq: { documents: "", query: "Find the answer" },
    });
    const own = { documents: "code", query: "question" };
    expect(await read(JSON.stringify({ nl_to_code: own }))).toEqual({ nl_to_code: own });
  });

  it.each([
    ["not json", "not valid JSON"],
    ["[]", "must be a JSON object"],
    ['{"faq": "sentence"}', '"faq"'],
    ['{"faq": {"query": 1}}', '"faq"'],
    ['{"faq": {"docs": "sentence"}}', '"faq"'],
    ['{"": {"query": "a"}}', '""'],
  ])("refuses %s", async (text, problem) => {
    await expect(read(text)).rejects.toThrow(SettingError);
    await expect(read(text)).rejects.toThrow(problem);
  });

  it("names a file that is not there, and what is wrong with it", async () => {
    const path = join(folder, "absent.json");
    await expect(readTasksFile(path)).rejects.toThrow(`${path} cannot be read: ENOENT: no such file`);
  });
});

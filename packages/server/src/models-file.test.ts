import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readModelsFile } from "./models-file.ts";
import { SettingError } from "./settings/setting-error.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-models-file-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function read(text: string): Promise<unknown> {
  const path = join(folder, "models.json");
  await writeFile(path, text);
  return readModelsFile(path);
}

describe("readModelsFile", () => {
  it("takes folders relative to the file, and absolute ones as they are", async () => {
    expect(
      await read(
        '{"BAAI/bge-m3": {"path": "weights/b"}, "Qwen/Qwen3-Embedding-0.6B": {"path": "/models/d", "revision": "r1"}}',
      ),
    ).toEqual({
      "BAAI/bge-m3": { path: join(folder, "weights/b") },
      "Qwen/Qwen3-Embedding-0.6B": { path: "/models/d", revision: "r1" },
    });
  });

  it.each([
    ["not json", "not valid JSON"],
    ['{"a/b": {"path": "x"}}', 'unknown embedding model "a/b"'],
    ["[]", "must be a JSON object"],
    ['{"BAAI/bge-m3": "folder"}', '"BAAI/bge-m3"'],
    ['{"BAAI/bge-m3": {}}', '"BAAI/bge-m3"'],
    ['{"BAAI/bge-m3": {"path": ""}}', '"BAAI/bge-m3"'],
    ['{"BAAI/bge-m3": {"path": "x", "revision": 1}}', '"BAAI/bge-m3"'],
  ])("refuses %s", async (text, problem) => {
    await expect(read(text)).rejects.toThrow(SettingError);
    await expect(read(text)).rejects.toThrow(problem);
  });

  it("names a file that is not there", async () => {
    const path = join(folder, "absent.json");
    await expect(readModelsFile(path)).rejects.toThrow(path);
  });
});

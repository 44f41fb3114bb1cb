import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readHead, readManifest } from "./tenant-manifest.ts";

const HEAD = { format: "sheaf-tenant", version: 1, tenant: "acme", resource_name: null };

function folderOf(...lines: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-manifest-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "manifest.jsonl"), `${[JSON.stringify(HEAD), ...lines].join("\n")}\n`);
  return folder;
}

async function refusal(folder: string): Promise<string> {
  try {
    const lines = readManifest(folder);
    while ((await lines.next()).done !== true);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}

it("names the line that it cannot take", async () => {
  const database = '{"database":"main"}';
  expect(await refusal(folderOf(database, database))).toBe("");
  for (const [line, words] of [
    [JSON.stringify(HEAD), "is a second head"],
    ["{}", "names no database"],
    ["{", "is no JSON"],
    ["1", "is no object"],
    ['{"file":"../x","records":1,"database":"main","collection":{"name":"a"}}', "describes no collection"],
  ] as const)
    expect(await refusal(folderOf(database, line))).toContain(`manifest.jsonl: line 3 ${words}`);
});

it("is a file, and not what could be read for ever", async () => {
  const folder = folderOf();
  const path = join(folder, "manifest.jsonl");
  rmSync(path);
  execFileSync("mkfifo", [path]);
  await expect(readHead(folder)).rejects.toThrow("manifest.jsonl is no file");
});

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { fileLines, importLines } from "./import-lines.ts";

it("refuses a line over the limit by its number, and goes on behind it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-lines-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a.jsonl");
  const line = (id: string, document: string): string => `${JSON.stringify({ id, document })}\n`;
  const huge = line("huge", "y".repeat(65 * 2 ** 20));
  writeFileSync(path, line("a", "x") + huge + `{"id":"named","extra":1}\n` + line("z", "x"));
  const bodies: string[] = [];
  const client = {
    request: async <T>({ body }: { readonly body?: unknown }): Promise<T> => {
      bodies.push(String(body));
      return {} as T;
    },
  };
  const imported = await importLines({
    ...{ path, key: "k", client, collection: "/c", onProgress: () => {} },
    lines: (from) => fileLines(path, from),
  });
  expect(imported).toMatchObject({ written: 2, refused: 2 });
  expect(bodies).toEqual([expect.stringContaining('{"ids":["a","z"]')]);
  const refused = readFileSync(imported.report, "utf8").trim().split("\n");
  expect(refused.map((one) => JSON.parse(one) as unknown)).toEqual([
    { line: 2, id: null, reason: "the line is over 67108864 bytes" },
    { line: 3, id: "named", reason: expect.stringContaining("extra: is unknown") },
  ]);
  expect(existsSync(`${path}.import.json`)).toBe(false);
});

it("takes a mark of UTF-8 at the start, and refuses what is no file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-lines-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a.jsonl");
  writeFileSync(path, `\ufeff${JSON.stringify({ id: "a", document: "x" })}\n`);
  const client = { request: async <T>(): Promise<T> => ({}) as T };
  const importOf = (from: string): ReturnType<typeof importLines> =>
    importLines({
      ...{ path: from, key: "k", client, collection: "/c", onProgress: () => {} },
      lines: (line) => fileLines(from, line),
    });
  expect(await importOf(path)).toMatchObject({ written: 1, refused: 0 });
  // Nobody ever writes to it.
  const pipe = join(folder, "pipe.jsonl");
  execFileSync("mkfifo", [pipe]);
  await expect(importOf(pipe)).rejects.toThrow(`${pipe} is no file`);
});

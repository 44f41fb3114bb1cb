/** `sheaf export` and `sheaf import` are killed on the way and run again: the same comes of it as without. */
import { existsSync, statSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeLines } from "./testing/lines-file.ts";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { watchedSheaf } from "./testing/watched-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const LINES = 3_000;
const REFUSED_EVERY = 100;

let folder: string;
let served: ServedSheaf;
let file: string;
beforeAll(async () => {
  folder = await temporaryFolder();
  served = await ServedSheaf.start({ args: ["--backup-folder", join(folder, "backups")] });
  file = join(folder, "lines.jsonl");
  writeLines(file, LINES, REFUSED_EVERY);
});
afterAll(async () => {
  await served.dispose();
  await rm(folder, { recursive: true, force: true });
});

it("an import goes on, and its report has each refused line once", async () => {
  const { id } = await served.ask<{ readonly id: string }>(COLLECTIONS, { name: "lines" });
  const run = ["import", file, "--collection", "lines"];
  const report = async (): Promise<readonly number[]> =>
    (await readFile(`${file}.refused.jsonl`, "utf8"))
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly line: number }).line);
  const isBegun = (): boolean => existsSync(`${file}.import.json`);
  expect(await watchedSheaf(served.url, run, isBegun)).toMatchObject({ signal: "SIGKILL" });
  // What it had told of lines that were not written yet.
  const { lines } = JSON.parse(await readFile(`${file}.import.json`, "utf8")) as { readonly lines: number };
  expect(lines).toBeGreaterThan(0);
  expect(lines).toBeLessThan(LINES);
  const ended = await watchedSheaf(served.url, run);
  const every = LINES / REFUSED_EVERY;
  expect(ended).toMatchObject({ code: 1, output: expect.stringContaining(`from line ${lines + 1} on`) });
  expect(ended.output).toContain(`refused: ${every}, see`);
  expect(await report()).toEqual(Array.from({ length: every }, (_, i) => (i + 1) * REFUSED_EVERY));
  expect(await served.ask<number>(`${COLLECTIONS}/${id}/count`)).toBe(LINES - every);
});

it("an export goes on, to the same bytes", async () => {
  expect(await watchedSheaf(served.url, ["backup", "one"])).toMatchObject({ code: 0 });
  const [whole, torn] = [join(folder, "whole.jsonl"), join(folder, "torn.jsonl")];
  const run = (to: string): readonly string[] => [
    ...["export", join(folder, "backups", "one"), "--collection", "lines", "--to", to],
  ];
  const isBegun = (): boolean => (statSync(`${torn}.part`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  expect(await watchedSheaf("", run(torn), isBegun)).toMatchObject({ signal: "SIGKILL" });
  expect(existsSync(torn)).toBe(false);
  expect(await watchedSheaf("", [...run(torn), "--json"])).toMatchObject({
    code: 0,
    output: expect.stringMatching(/"resumed": [1-9]/u),
  });
  expect(await watchedSheaf("", run(whole))).toMatchObject({ code: 0 });
  expect((await readFile(torn)).equals(await readFile(whole))).toBe(true);
});

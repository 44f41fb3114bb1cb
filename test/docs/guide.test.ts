/** Runs the `sh` blocks of guide pages in one shell, in order, and compares each answer with the `json` block below it. */
import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf, temporaryFolder } from "../e2e/testing/served-sheaf.ts";

const GUIDE = fileURLToPath(new URL("../../docs/guide/", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MARK = "==== end of block ====";
/** Printed figures are rounded for the reader. */
const TOLERANCE = 1e-3;

interface Block {
  readonly script: string;
  readonly expected: unknown;
}

describe.each([
  { auth: "on", key: ROOT_KEY },
  { auth: "off", key: "" },
])("the guide, with --auth $auth", ({ auth, key }) => {
  let served: ServedSheaf;
  let backups = "";
  let archive = "";

  beforeAll(async () => {
    backups = await temporaryFolder();
    archive = await temporaryFolder();
    const args = ["--auth", auth, "--backup-folder", backups, "--archive", archive];
    served = await ServedSheaf.start({ args, env: { SHEAF_ROOT_KEY: key } });
  });

  afterAll(async () => {
    await served.dispose();
    for (const folder of [backups, archive]) await rm(folder, { recursive: true, force: true });
  });

  it.each([
    { page: "getting-started.md", least: 7 },
    { page: "models.md", least: 1 },
    { page: "chunking.md", least: 5 },
    { page: "moving-from-chroma.md", least: 2 },
    { page: "why-did-it-rank-there.md", least: 4 },
    { page: "../reference/extensions.md", least: 2 },
    // Without keys there are none to make; and backups take many commands.
    ...(auth === "on"
      ? [
          { page: "security.md", least: 2 },
          { page: "backup-and-restore.md", least: 7 },
          { page: "many-tenants.md", least: 3 },
        ]
      : []),
  ])("has blocks in $page that can be run, and run again", async ({ page, least }) => {
    const blocks = readBlocks(await readFile(`${GUIDE}${page}`, "utf8"));
    expect(blocks.length).toBeGreaterThanOrEqual(least);
    for (let run = 0; run < 2; run++) {
      const variables = {
        SHEAF_URL: served.url,
        SHEAF_KEY: key,
        SHEAF_BACKUP_FOLDER: backups,
        ARCHIVE: archive,
      };
      const outputs = await runAll(blocks, variables);
      for (const [position, { script, expected }] of blocks.entries()) {
        if (expected === undefined) continue;
        const output = outputs[position] ?? "";
        expect(() => JSON.parse(output), `${script}\n${output}`).not.toThrow();
        expectLike(JSON.parse(output), expected, script);
      }
    }
  });

  it("has a recipe for keys that says what it makes, and ends where the server refuses", async () => {
    const [make] = readBlocks(await readFile(`${GUIDE}security.md`, "utf8"));
    const blocks = make === undefined ? [] : [make];
    const made = "tenant acme with database notes";
    if (auth === "on") {
      expect((await runAll(blocks, { SHEAF_URL: served.url, SHEAF_KEY: key }))[0]).toBe(made);
      const refused = runAll(blocks, { SHEAF_URL: served.url, SHEAF_KEY: "no-key-of-this-server" });
      await expect(refused).rejects.toThrow("the API key is not valid");
    }
    await expect(runAll(blocks, { SHEAF_URL: "http://127.0.0.1:1", SHEAF_KEY: key })).rejects.toThrow(
      "no server answers",
    );
  });
});

function readBlocks(page: string): Block[] {
  const fences = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gmu)].map((match) => ({
    language: match[1] ?? "",
    body: match[2] ?? "",
  }));
  return fences.flatMap(({ language, body }, position) => {
    if (language !== "sh") return [];
    const next = fences[position + 1];
    return [{ script: body, expected: next?.language === "json" ? JSON.parse(next.body) : undefined }];
  });
}

/** One shell for all blocks, as a reader has; it stops at the first that fails. */
async function runAll(
  blocks: readonly Block[],
  variables: Readonly<Record<string, string>>,
): Promise<string[]> {
  const shell = spawn("bash", ["-euo", "pipefail"], {
    cwd: ROOT,
    env: { ...process.env, PATH: `${ROOT}node_modules/.bin:${process.env["PATH"]}`, ...variables },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  shell.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  shell.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => shell.once("close", resolve));
  shell.stdin.end(blocks.map(({ script }) => `${script}\necho\necho '${MARK}'\n`).join(""));
  expect(await ended, `${errors}\n${output}`).toBe(0);
  return output.split(MARK).map((part) => part.trim());
}

/** Equal, except that "…" stands for anything and numbers may differ by rounding. */
function expectLike(actual: unknown, expected: unknown, where: string): void {
  if (expected === "…") return;
  if (typeof expected === "number") {
    expect(Math.abs(Number(actual) - expected), where).toBeLessThan(TOLERANCE);
  } else if (Array.isArray(expected)) {
    expect(Array.isArray(actual) ? actual.length : actual, where).toBe(expected.length);
    for (const [i, item] of expected.entries()) expectLike((actual as unknown[])[i], item, `${where}[${i}]`);
  } else if (typeof expected === "object" && expected !== null) {
    expect(Object.keys(actual as object), where).toEqual(Object.keys(expected));
    for (const [key, item] of Object.entries(expected)) {
      expectLike((actual as Record<string, unknown>)[key], item, `${where}.${key}`);
    }
  } else {
    expect(actual, where).toEqual(expected);
  }
}

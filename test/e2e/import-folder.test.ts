/** `sheaf import FOLDER`, by the real command: what is in the collection follows the files. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hybridSchema } from "@sheaf/client";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { COMMAND, type EndedCommand, sheafAt } from "./testing/sheaf-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const DEADLINE_MS = 60_000;
const FILES: Readonly<Record<string, string>> = {
  "ships.md": "# Ships\nShips wait for the tide.\n\n# Bread\nBread rises for a whole night.",
  "sub/page.html": "<title>Knots</title><p>A bowline does not slip.",
  "sub/years.csv": "name,year\nanchor,1998\nsail,2003\n",
  "server.pem": "a key",
  ".hidden.md": "hidden",
  "photo.png": "no text",
  "broken.json": "{",
};

let served: ServedSheaf;
let base: string;
let folder: string;
let runs = 0;

beforeAll(async () => {
  base = await temporaryFolder();
  served = await ServedSheaf.start();
});
afterAll(async () => {
  await served.dispose();
  await rm(base, { recursive: true, force: true });
});
beforeEach(async () => {
  folder = join(base, `run-${++runs}`);
  await mkdir(join(folder, "sub"), { recursive: true });
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
});

const env = (): NodeJS.ProcessEnv => ({ ...process.env, SHEAF_URL: served.url, SHEAF_KEY: ROOT_KEY });

const imported = (...args: readonly string[]): ReturnType<typeof importedFrom> =>
  importedFrom(folder, ...args);

const importedFrom = (path: string, ...args: readonly string[]): Promise<EndedCommand> =>
  sheafAt(served.url, ["import", path, ...args]);

interface Records {
  readonly ids: readonly string[];
  readonly documents: readonly string[];
  readonly metadatas: readonly Readonly<Record<string, unknown>>[];
}

async function recordsOf(name: string): Promise<Records> {
  const { id } = await served.ask<{ readonly id: string }>(`${COLLECTIONS}/${name}`);
  return served.ask(`${COLLECTIONS}/${id}/get`, { include: ["documents", "metadatas"] });
}

describe("sheaf import FOLDER", () => {
  it("writes what it reads, and names what it skips", async () => {
    const { code, output } = await imported("--into", "first", "--create");
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining("3 files written to first, which has 5 records now; 4 skipped, see "),
    });
    const { ids, documents, metadatas } = await recordsOf("first");
    expect(ids.toSorted()).toEqual([
      ...["ships.md#0", "ships.md#1", "sub/page.html#0"],
      ...["sub/years.csv:1#0", "sub/years.csv:2#0"],
    ]);
    const sail = ids.indexOf("sub/years.csv:2#0");
    expect(documents[sail]).toBe("name: sail\nyear: 2003");
    const place = {
      path: "sub/years.csv",
      kind: "csv",
      row: 2,
      parent: "sub/years.csv:2",
      start: 0,
      end: 21,
    };
    expect(metadatas[sail]).toMatchObject({ ...place, version: expect.stringMatching(/^[0-9a-f]{16}$/u) });
    expect(documents[ids.indexOf("ships.md#1")]).toBe("# Bread\nBread rises for a whole night.");
    expect(metadatas[ids.indexOf("ships.md#1")]).toMatchObject({
      path: "ships.md",
      title: "Ships",
      start: 34,
    });
    expect(metadatas[ids.indexOf("sub/page.html#0")]).toMatchObject({ title: "Knots", kind: "html" });
    const report = (await readFile(`${folder}.import.skipped.jsonl`, "utf8")).trim().split("\n");
    const skipped = report.map(
      (line) => JSON.parse(line) as { readonly path: string; readonly reason: string },
    );
    expect(skipped.map(({ path }) => path).toSorted()).toEqual([
      ".hidden.md",
      "broken.json",
      "photo.png",
      "server.pem",
    ]);
    expect(skipped.find(({ path }) => path === "broken.json")?.reason).toContain("is no JSON");
  });

  it("leaves alone what has not changed, replaces what has, and removes what is gone", async () => {
    const long = Array.from({ length: 400 }, (_, i) => `Sentence number ${i} is about the sea.`).join(" ");
    await writeFile(join(folder, "long.txt"), long);
    await imported("--collection", "second", "--create");
    const before = (await recordsOf("second")).ids.filter((id) => id.startsWith("long.txt#"));
    expect(before.length).toBeGreaterThan(10);
    expect((await imported("--collection", "second")).output).toContain(
      "0 files written to second, which has",
    );
    expect((await imported("--collection", "second")).output).toContain("; 4 unchanged");

    await writeFile(join(folder, "long.txt"), "Short now.");
    await writeFile(join(folder, "sub", "years.csv"), "name,year\nanchor,1998\n");
    await rm(join(folder, "ships.md"));
    // The line of a file that was being written when the command was killed.
    await appendFile(`${folder}.import.jsonl`, '{"path":"sub/page');
    const kept = await imported("--collection", "second", "--keep");
    expect(kept.output).toContain("2 files written");
    expect((await recordsOf("second")).ids).toContain("ships.md#0");
    expect((await imported("--collection", "second")).output).toContain("1 removed");
    const rest = ["sub/page.html#0", "sub/years.csv:1#0"];
    expect((await recordsOf("second")).ids.toSorted()).toEqual(["long.txt#0", ...rest]);
    // Without a state, what an older and longer file left goes, too.
    await writeFile(join(folder, "sub", "years.csv"), FILES["sub/years.csv"]!);
    await imported("--collection", "second");
    await rm(`${folder}.import.jsonl`);
    await writeFile(join(folder, "sub", "years.csv"), "name,year\nanchor,1999\n");
    await imported("--collection", "second");
    expect((await recordsOf("second")).ids.toSorted()).toEqual(["long.txt#0", ...rest]);
    // A folder that is empty all at once is most likely not mounted.
    for (const name of ["long.txt", "broken.json", "sub"]) await rm(join(folder, name), { recursive: true });
    await imported("--collection", "second");
    expect((await recordsOf("second")).ids.length).toBe(3);
  });

  it("follows a folder in two collections, and says what the server refuses", async () => {
    await served.ask(COLLECTIONS, {
      name: "uncut",
      schema: hybridSchema(),
    });
    await writeFile(join(folder, "long.txt"), "The tide rises in the harbour. ".repeat(200));
    await writeFile(join(folder, "old.jsonl.refused.jsonl"), '{"line": 1}\n');
    expect((await imported("--into", "one", "--create")).output).toContain("4 files written");
    const whole = await imported("--into", "uncut", "--chunking", "none");
    expect(whole).toMatchObject({
      code: 1,
      output: expect.stringContaining("1 refused by the server, see "),
    });
    await rm(join(folder, "ships.md"));
    for (const name of ["one", "uncut"]) {
      expect(
        (await imported("--into", name, ...(name === "one" ? [] : ["--chunking", "none"]))).output,
      ).toContain("1 removed");
      expect((await recordsOf(name)).metadatas.map(({ path }) => path)).not.toContain("ships.md");
    }
  });

  it("cuts as it is told, else as the collection says", async () => {
    const text = "zqxjkvbw ".repeat(400);
    await writeFile(join(folder, "dense.txt"), text);
    const of = async (name: string): Promise<readonly string[]> => {
      const { ids, documents } = await recordsOf(name);
      return documents.filter((_, i) => ids[i]!.startsWith("dense.txt#"));
    };
    expect((await imported("--into", "third", "--create")).code).toBe(0);
    const byKind = await of("third");
    expect(byKind.join("")).toBe(text);
    const small = await imported("--into", "third", "--chunking", "tokens", "--tokens", "64");
    expect(small.output).toContain("4 files written");
    expect((await of("third")).length).toBeGreaterThan(byKind.length * 3);

    await served.ask(COLLECTIONS, {
      name: "own",
      schema: hybridSchema({ chunking: { by: "tokens", size: 32 } }),
    });
    expect((await imported("--into", "own")).code).toBe(0);
    expect((await of("own")).length).toBeGreaterThan(byKind.length * 6);
  });

  it("watches, until it is interrupted", async () => {
    const all = [COMMAND, "import", folder, "--into", "fourth", "--create", "--watch"];
    const child = spawn(process.execPath, all, { env: env(), stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    try {
      await said(child, "3 files written");
      const next = said(child, "1 file written");
      await writeFile(join(folder, "new.txt"), "Something new.");
      await next;
      const gone = said(child, "1 removed");
      await rm(join(folder, "new.txt"));
      await gone;
      expect((await recordsOf("fourth")).ids).not.toContain("new.txt#0");
    } finally {
      child.kill("SIGINT");
    }
    expect((await exited)[0]).toBe(0);
  });

  it("waits for a server that is away while it watches", async () => {
    const first = await ServedSheaf.start();
    const all = [COMMAND, "import", folder, "--into", "fifth", "--create", "--watch"];
    const variables = { ...env(), SHEAF_URL: first.url };
    const child = spawn(process.execPath, all, { env: variables, stdio: ["ignore", "pipe", "pipe"] });
    const exited = once(child, "exit");
    let again: ServedSheaf | null = null;
    try {
      await said(child, "3 files written");
      const waits = said(child, "waiting for the server", "stderr");
      await first.stop();
      await waits;
      await writeFile(join(folder, "new.txt"), "Something new.");
      const next = said(child, "1 file written");
      const { port } = new URL(first.url);
      again = await ServedSheaf.launch({ data: first.data, args: ["--port", port] });
      await next;
    } finally {
      child.kill("SIGINT");
      expect((await exited)[0]).toBe(0);
      await again?.stop();
      await first.dispose();
    }
  });

  it("says what it needs", async () => {
    expect(await imported("--into", "absent")).toMatchObject({
      code: 1,
      output: expect.stringContaining("--create makes the collection"),
    });
    expect((await imported("--into", "a", "--collection", "b")).code).toBe(2);
    const file = join(folder, "ships.md");
    for (const [words, args] of [
      ["holds no JSON lines", []],
      ["--watch is for folders", ["--watch"]],
    ] as const)
      expect(await importedFrom(file, "--into", "first", ...args)).toMatchObject({
        code: 2,
        output: expect.stringContaining(words),
      });
    expect(existsSync(`${file}.refused.jsonl`)).toBe(false);
    await served.ask(COLLECTIONS, { name: "plain" });
    expect(await imported("--into", "plain")).toMatchObject({
      code: 2,
      output: expect.stringContaining("embeds nothing"),
    });
    expect(await imported("--into", "first", "--tokens", "1")).toMatchObject({
      code: 2,
      output: expect.stringContaining("must lie within 32 and 2048 tokens"),
    });
    expect((await imported("--into", "first", "--chunking", "pages")).code).toBe(2);
  });
});

async function said(
  child: ChildProcess,
  words: string,
  stream: "stdout" | "stderr" = "stdout",
): Promise<void> {
  let output = "";
  const listen = (chunk: Buffer): void => void (output += chunk.toString());
  child[stream]!.on("data", listen);
  const deadline = performance.now() + DEADLINE_MS;
  while (!output.includes(words)) {
    if (performance.now() > deadline) throw new Error(`it did not say "${words}" but ${output}`);
    await sleep(50);
  }
  child[stream]!.off("data", listen);
}

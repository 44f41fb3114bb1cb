/** The tour over a folder of the caller's own: five kinds of search, exit code 0, nothing left behind. */
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SheafClient } from "@sheaf/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../scripts/quickstart.mjs", import.meta.url));
const QUESTION = "How do bees find flowers?";

let folder: string;
/** For what the tour itself makes. */
let temporary: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-tour-"));
  temporary = await mkdtemp(join(tmpdir(), "sheaf-tour-"));
  await mkdir(join(folder, "garden"));
  await mkdir(join(folder, "pictures"));
  await writeFile(join(folder, "pictures", "bees.png"), "\x89PNG\0");
  await writeFile(
    join(folder, "garden", "bees.md"),
    "# Bees\n\nHoney bees see ultraviolet marks that guide them to flowers.\n\n## Winter\n\nThe colony keeps warm in a ball.\n",
  );
  await writeFile(
    join(folder, "long.txt"),
    // One paragraph far over the model's limit, which the server cuts.
    Array.from({ length: 900 }, (_, i) => `stone${i}`).join(" "),
  );
  await writeFile(join(folder, "market.md"), "# Market\n\nBakers sell their bread before noon.\n");
  await writeFile(join(folder, "harbour.md"), "# Harbour\n\nShips wait for the tide before they leave.\n");
});

afterAll(async () => {
  for (const made of [folder, temporary]) await rm(made, { recursive: true, force: true });
});

function tour(place: string, ...questions: string[]): SpawnSyncReturns<string> {
  // As npm sets it, which runs the script in the folder of the package.
  const env = { ...process.env, TMPDIR: temporary, INIT_CWD: folder };
  return spawnSync(process.execPath, [SCRIPT, place, ...questions], {
    encoding: "utf8",
    timeout: 280_000,
    env,
  });
}

describe("npm run quickstart -- FOLDER QUESTION", () => {
  it("prints five searches over the folder and exits with 0", async () => {
    const { status, stdout, stderr } = tour(folder, QUESTION);
    expect(status, stderr).toBe(0);
    const progress = stderr.split("\n").filter((line) => line !== "");
    expect(progress.at(-1)).toContain("100%");
    expect(progress.filter((line) => !line.startsWith("embedding "))).toEqual([]);
    const lines = stdout.split("\n");
    for (const kind of ["dense", "sparse", "hybrid", "hybrid where", "grouped"]) {
      const heading = lines.findIndex(
        (line) => line.startsWith(`${kind} `) && line.includes(QUESTION) && line.endsWith(" ms)"),
      );
      expect(heading, kind).toBeGreaterThan(0);
      // The filter of `hybrid where` is the folder with most sections, here the top one.
      const best =
        kind === "hybrid where"
          ? /^1\. (?:long\.txt|market\.md|harbour\.md) /
          : /^1\. garden\/bees\.md Bees /;
      expect(lines[heading + 1], kind).toMatch(best);
      expect(lines[heading + 1], kind).toMatch(/ -?\d+\.\d+$/);
      expect(lines[heading + 2], kind).toMatch(
        kind === "hybrid where"
          ? /^   \S/
          : /^   (?:… )?Honey bees see ultraviolet marks that guide them to flowers\.$/,
      );
    }
    expect(stdout).toContain("Lower scores are better.");
    expect(lines.filter((line) => line !== "").at(-3)).toMatch(/^Done\. /);
    expect(lines.filter((line) => line !== "").at(-1)).toBe(
      "Next: docs/guide/getting-started.md starts a server to keep, and writes such searches with curl.",
    );
    const left = (await readdir(temporary)).filter((name) => name.startsWith("sheaf-quickstart-"));
    expect(left).toEqual([]);
  });

  it("leaves nothing behind where it is interrupted", async () => {
    const env = { ...process.env, TMPDIR: temporary, INIT_CWD: folder };
    const child = spawn(process.execPath, [SCRIPT, folder, QUESTION], {
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
      env,
    });
    for await (const text of child.stdout.setEncoding("utf8")) if (String(text).includes("Indexing ")) break;
    // As a terminal does it: all processes hear of it.
    process.kill(-child.pid!, "SIGINT");
    await once(child, "exit");
    const left = (await readdir(temporary)).filter((name) => name.startsWith("sheaf-quickstart-"));
    expect(left).toEqual([]);
  });

  it("leaves the server up until it is interrupted, where it is to keep it", async () => {
    const env = { ...process.env, TMPDIR: temporary, INIT_CWD: folder };
    const child = spawn(process.execPath, [SCRIPT, "--keep", join("garden", "bees.md"), QUESTION], {
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
      env,
    });
    let printed = "";
    for await (const text of child.stdout.setEncoding("utf8")) {
      printed += String(text);
      const [, url, key] = /stays up at (\S+) until Ctrl-C\. Its key: (\S+)\n/u.exec(printed) ?? [];
      if (url === undefined || key === undefined) continue;
      const collections = await new SheafClient({ url, key }).listCollections();
      expect(collections.map(({ name }) => name)).toEqual(["quickstart"]);
      break;
    }
    process.kill(-child.pid!, "SIGINT");
    expect(await once(child, "exit")).toEqual([0, null]);
    const left = (await readdir(temporary)).filter((name) => name.startsWith("sheaf-quickstart-"));
    expect(left).toEqual([]);
  });

  it.each([
    ["words that are not in quotes", ["what", "is", "this"], "put the question into quotes: "],
    ["an empty question", [" "], "the question is empty: "],
  ])("refuses %s with one line and exit code 2", (_what, questions, problem) => {
    const { status, stderr } = tour(folder, ...questions);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(problem) });
  });

  it.each([
    ["a folder that is not there", "nowhere", "no such folder or file"],
    ["a folder without text", "pictures", "no file in it that can be read"],
  ])("refuses %s with one line and exit code 2", (_what, name, problem) => {
    const place = join(folder, name);
    const { status, stderr } = tour(place, QUESTION);
    const told = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("embedding "));
    expect({ status, told }).toEqual({ status: 2, told: [`quickstart: ${place}: ${problem}`] });
  });

  it("takes a single file, relative to where its user is, and says what it asks without a question", () => {
    const { status, stdout, stderr } = tour(join("garden", "bees.md"));
    expect(status, stderr).toBe(0);
    expect(stdout).toContain("\n1. bees.md Bees ");
    expect(stdout).toContain('No question was given, so it asks: "Bees"\n');
  });
});

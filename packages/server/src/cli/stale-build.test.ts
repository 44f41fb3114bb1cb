/** The committed command in a clone of its own: what it says of a build that is older than the sources. */
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const BIN = fileURLToPath(new URL("../../bin", import.meta.url));
const NOTE = "The build is older than the sources of this clone: run `npm run build`.\n";
const BUILT_AT = 1_000_000;

let clone: string;

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), "sheaf-clone-"));
  await cp(BIN, join(clone, "packages/server/bin"), { recursive: true });
  const main = "export const main = async () => { console.log('done'); return 3; };";
  await writeAt("packages/server/bundle/main.js", BUILT_AT, main);
  await writeAt("package.json", BUILT_AT, '{"type": "module"}');
});

afterEach(() => rm(clone, { recursive: true, force: true }));

async function writeAt(path: string, seconds: number, text = ""): Promise<void> {
  const file = join(clone, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  await utimes(file, seconds, seconds);
}

describe("sheaf in a clone", () => {
  it.each([
    ["says in a line that a source of any package is newer than the build", "engine/src/a/b.ts", 1, NOTE],
    ["says nothing of a build that is newer", "engine/src/a/b.ts", -1, ""],
    ["says nothing of a newer test", "engine/src/a/b.test.ts", 1, ""],
  ])("%s", async (_what, path, age, stderr) => {
    await writeAt("packages/server/src/index.ts", BUILT_AT - 1);
    await writeAt(`packages/${path}`, BUILT_AT + age);
    expect(run()).toEqual({ status: 3, stdout: "done\n", stderr });
  });

  it("says nothing where there are no sources, as in an installed package", async () => {
    await writeAt("packages/engine/src/newer.ts", BUILT_AT + 1);
    await rm(join(clone, "packages/server/bin/is-stale.mjs"));
    expect(run()).toEqual({ status: 3, stdout: "done\n", stderr: "" });
  });
});

function run(): { status: number | null; stdout: string; stderr: string } {
  const command = join(clone, "packages/server/bin/sheaf.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [command], { encoding: "utf8" });
  return { status, stdout, stderr };
}

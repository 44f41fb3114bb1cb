/**
 * The tests that need an object store, against a real one: versitygw, built by Go from its module proxy (two minutes of
 * processor time, once). SHEAF_TEST_VERSITYGW names a program that is there already. `--compile` has Go compile it and runs
 * nothing; it needs no packages.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MODULE = "github.com/versity/versitygw/cmd/versitygw";
const VERSION = "v1.8.0";

const folder = join(import.meta.dirname, "..", "node_modules", ".cache", `versitygw-${VERSION}`);
const program = process.env.SHEAF_TEST_VERSITYGW ?? join(folder, "versitygw");

if (process.argv.includes("--compile")) compile();
if (!existsSync(program)) run("go", ["install", `${MODULE}@${VERSION}`], { GOBIN: folder });
run(
  "npx",
  [
    "vitest",
    "run",
    "--project",
    "long",
    "packages/engine/src/storage/objects",
    "packages/engine/src/publication",
    "packages/engine/src/backup/bucket",
  ],
  {
    SHEAF_TEST_VERSITYGW: program,
  },
);

/** Into Go's cache, for `npm ci` removes what is below node_modules. */
function compile() {
  const bin = mkdtempSync(join(tmpdir(), "sheaf-versitygw-"));
  process.on("exit", () => rmSync(bin, { recursive: true }));
  run("go", ["install", `${MODULE}@${VERSION}`], { GOBIN: bin, GOMAXPROCS: "1" });
  process.exit(0);
}

function run(command, args, env) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit", env: { ...process.env, ...env } });
  if (error !== undefined) console.error(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

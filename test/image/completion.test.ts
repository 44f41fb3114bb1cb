/**
 * The scripts of `sheaf completion` for zsh and fish, in these shells: `npm run test:completion`, for verify has to do without them.
 * The one for bash is tested beside its source.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sheaf-completion-"));

beforeAll(() => {
  writeFileSync(join(folder, "backup.json"), "");
  for (const shell of ["zsh", "fish"]) {
    if (spawnSync(shell, ["-c", "true"]).status !== 0)
      throw new Error(`npm run test:completion needs ${shell}`);
    writeFileSync(join(folder, shell), execFileSync(process.execPath, [COMMAND, "completion", shell]));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function ask(shell: string, program: string): readonly string[] {
  const { stdout, stderr } = spawnSync(shell, ["-c", program], { cwd: folder, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

/** What fish offers at the end of the line, without descriptions. */
function fish(line: string): readonly string[] {
  return ask("fish", `source ./fish; complete -C '${line}'`).map((found) => found.split("\t")[0] ?? "");
}

/** What zsh's functions are given, which write to a terminal only. */
function zsh(...words: readonly string[]): readonly string[] {
  const record = [
    "compdef() { :; }; compset() { :; }; _files() { print files; }; _message() { print text; }",
    'compadd() { shift; print -l -- "$@"; }',
    '_describe() { local name=${@[-1]} each; for each in "${(@P)name}"; do print -r -- "${each%%:*}"; done; }',
  ].join("\n");
  const line = words.map((word) => `'${word}'`).join(" ");
  const set = `words=(sheaf ${line}); CURRENT=${words.length + 1}; PREFIX='${words.at(-1) ?? ""}'`;
  return ask("zsh", `${record}\nsource ./zsh\n${set}\n_sheaf`);
}

describe("in fish", () => {
  it.each([
    ["sheaf ser", ["serve"]],
    ["sheaf help keys ro", ["rotate"]],
    ["sheaf models ", ["list", "pull", "rm", "verify"]],
    ["sheaf keys create --all", ["--all-tenants"]],
    ["sheaf serve --auth ", ["off", "on"]],
    ["sheaf serve --port ", []],
    ["sheaf serve --config backup", ["backup.json"]],
    ["sheaf import backup", ["backup.json"]],
    ["sheaf completion ", ["bash", "fish", "zsh"]],
  ])("completes %j", (line, expected) => {
    expect(fish(line).toSorted()).toEqual(expected);
  });
});

describe("in zsh", () => {
  it.each([
    [
      ["models", ""],
      ["list", "pull", "verify", "rm"],
    ],
    [
      ["help", "models", ""],
      ["list", "pull", "verify", "rm"],
    ],
    [
      ["serve", "--auth", ""],
      ["on", "off"],
    ],
    [
      ["serve", "--auth=o"],
      ["on", "off"],
    ],
    [["serve", "--port", ""], ["text"]],
    [["serve", "--config", ""], ["files"]],
    [["import", ""], ["files"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
  ])("completes %j", (words, expected) => {
    expect(zsh(...words)).toEqual(expected);
  });

  it("offers every option with its sentence", () => {
    expect(zsh("keys", "revoke", "-")).toEqual(["--url", "--key", "--json", "--help"]);
  });
});

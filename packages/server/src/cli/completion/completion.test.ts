/** The scripts of `sheaf completion`, in the shells that this machine has. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { main } from "../main.ts";

const folder = mkdtempSync(join(tmpdir(), "sheaf-completion-"));
const has = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

async function scriptFor(shell: string): Promise<string> {
  const written: string[] = [];
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const code = await main(["completion", shell]);
  spy.mockRestore();
  expect(code).toBe(0);
  return written.join("");
}

beforeAll(async () => {
  mkdirSync(join(folder, "a folder"));
  writeFileSync(join(folder, "backup.json"), "");
  for (const shell of ["bash", "zsh", "fish"]) writeFileSync(join(folder, shell), await scriptFor(shell));
});

afterEach(() => {
  vi.restoreAllMocks();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function ask(shell: string, program: string): readonly string[] {
  const { stdout, stderr } = spawnSync(shell, ["-c", program], { cwd: folder, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

/** What bash offers for the last of these words, cut as bash cuts a line. */
function bash(...words: readonly string[]): readonly string[] {
  const line = words.map((word) => `'${word}'`).join(" ");
  const set = `COMP_WORDS=(sheaf ${line}); COMP_CWORD=${words.length}`;
  // `compopt` is for a completion that is going on.
  return ask("bash", `source ./bash; compopt() { :; }; ${set}; _sheaf; printf '%s\\n' "\${COMPREPLY[@]}"`);
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

describe.runIf(has("bash"))("in bash", () => {
  it.each([
    [["ser"], ["serve"]],
    [["hel"], ["help"]],
    [["help", "keys", "ro"], ["rotate"]],
    [["keys", "c"], ["create"]],
    [
      ["models", ""],
      ["list", "pull", "verify", "rm", "--help"],
    ],
    [["keys", "create", "--all"], ["--all-tenants"]],
    [
      ["serve", "--tls"],
      ["--tls-cert", "--tls-key"],
    ],
    [
      ["serve", "--auth", ""],
      ["on", "off"],
    ],
    [["serve", "--auth", "=", "of"], ["off"]],
    [
      ["serve", "--auth", "="],
      ["on", "off"],
    ],
    [["serve", "--port", ""], []],
    [
      ["serve", "--config", "ba"],
      ["backup.json", "bash"],
    ],
    [["serve", "--data", "a"], ["a folder"]],
    [["import", "backup"], ["backup.json"]],
    [["completion", "z"], ["zsh"]],
    [["keys", "list", "create", "--all"], []],
  ])("completes %j", (words, expected) => {
    expect(bash(...words).toSorted()).toEqual(expected.toSorted());
  });
});

describe.runIf(has("fish"))("in fish", () => {
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

describe.runIf(has("zsh"))("in zsh", () => {
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

describe("sheaf completion", () => {
  it("runs in at least one shell here", () => {
    expect(["bash", "zsh", "fish"].some(has)).toBe(true);
  });

  it.each([[["completion", "tcsh"]], [["completion", "constructor"]], [["completion"]]])(
    "refuses %j with exit code 2",
    async (args) => {
      const errors: string[] = [];
      vi.spyOn(process.stderr, "write").mockImplementation((text) => errors.push(String(text)) > 0);
      vi.spyOn(console, "error").mockImplementation((text) => void errors.push(String(text)));
      expect(await main(args)).toBe(2);
      expect(errors.join("")).toMatch(/bash\W{1,2}zsh\W{1,2}fish/u);
    },
  );
});

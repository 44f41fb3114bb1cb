/** The script of `sheaf completion` for bash, in bash. Those for zsh and fish are tested in test/image. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { main } from "../main.ts";

const folder = mkdtempSync(join(tmpdir(), "sheaf-completion-"));

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
  writeFileSync(join(folder, "bash"), await scriptFor("bash"));
});

afterEach(() => {
  vi.restoreAllMocks();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What bash offers for the last of these words, cut as bash cuts a line. */
function bash(...words: readonly string[]): readonly string[] {
  const line = words.map((word) => `'${word}'`).join(" ");
  const set = `COMP_WORDS=(sheaf ${line}); COMP_CWORD=${words.length}`;
  // `compopt` is for a completion that is going on.
  const program = `source ./bash; compopt() { :; }; ${set}; _sheaf; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["-c", program], { cwd: folder, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

describe("in bash", () => {
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

describe("sheaf completion", () => {
  it("makes a script for each shell, with every command in it", async () => {
    for (const shell of ["bash", "zsh", "fish"])
      for (const word of ["serve", "keys rotate", "accept-model", "tls-cert"])
        expect(await scriptFor(shell), shell).toContain(word);
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

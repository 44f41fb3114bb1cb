/** What the command line itself answers, whatever the command. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { main } from "./main.ts";

const COMMAND = fileURLToPath(new URL("../../bin/sheaf.mjs", import.meta.url));
/** Of a working tree that was changed since its build. */
const STALE_BUILD = /^The build is older than .*\n/u;

afterEach(() => {
  vi.restoreAllMocks();
});

describe("sheaf", () => {
  it.each(["--version", "-V"])("%s prints the package's version and exits with 0", async (flag) => {
    const written: string[] = [];
    vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    expect(await main([flag])).toBe(0);
    const manifest: unknown = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    expect({ version: written.join("").trim() }).toEqual({
      version: (manifest as { readonly version: string }).version,
    });
  });

  it.each([
    [["florp"], "sheaf: unknown command 'florp'; see `sheaf --help`"],
    [["serv"], "sheaf: unknown command 'serv' (Did you mean serve?); see `sheaf --help`"],
    [["models", "lst"], "sheaf: unknown command 'lst' (Did you mean list?); see `sheaf models --help`"],
    [["florp", "--help"], "unknown command florp; see `sheaf --help`"],
    [["keys", "florp", "--help"], "unknown command keys florp; see `sheaf --help`"],
    [["--florp"], "sheaf: unknown option '--florp'; see `sheaf --help`"],
    [["keys", "create", "--florp"], "sheaf: unknown option '--florp'; see `sheaf keys create --help`"],
    [["keys", "list", "more"], "Expected 0 arguments but got 1; see `sheaf keys list --help`"],
    [
      ["restore", "b", "--archive", "a", "--until", "2026-02-30T00:00:00Z"],
      "2026-02-30T00:00:00Z is neither",
    ],
    [["restore", "b", "--archive", "a", "--until", "2999-01-01T00:00:00Z"], "is still to come"],
    [["serve", "--prot", "1"], "(Did you mean --port?); see `sheaf serve --help`"],
  ])("refuses %j with exit code 2 and points to the help", async (args, message) => {
    const errors: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => errors.push(String(text)) > 0);
    vi.spyOn(console, "error").mockImplementation((text) => void errors.push(String(text)));
    expect(await main(args)).toBe(2);
    expect(errors.join("\n")).toContain(message);
  });

  it.each([
    [["help"], "Usage: sheaf [options]"],
    [["help", "keys"], "Usage: sheaf keys "],
    [["help", "keys", "create"], "Usage: sheaf keys create "],
  ])("prints the help for %j", async (args, usage) => {
    const written: string[] = [];
    vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    expect(await main(args)).toBe(0);
    expect(written.join("")).toContain(usage);
  });

  it.each([["serve"], ["doctor"], ["compact"], ["models", "pull"], ["collections", "accept-model"], []])(
    "prints no line of help over 100 columns: %s",
    async (...command) => {
      const written: string[] = [];
      vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
      expect(await main([...command, "--help"])).toBe(0);
      const lines = written.join("").split("\n");
      expect(lines.length).toBeGreaterThan(5);
      expect(lines.filter((line) => line.length > 100)).toEqual([]);
    },
  );

  it("says in its help what exit codes mean", async () => {
    const written: string[] = [];
    vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    await main(["--help"]);
    expect(written.join("")).toContain("Exit codes: 0, done; 1, it failed; 2, the command line");
  });

  it("ends quietly where nobody reads on", async () => {
    const child = spawn(process.execPath, [COMMAND, "serve", "--help"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, errors: errors.replace(STALE_BUILD, "") }).toEqual({ code: 0, errors: "" });
  });
});

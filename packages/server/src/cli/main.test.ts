/** What the command line itself answers, whatever the command. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { main } from "./main.ts";

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
    [["florp"], "unknown command florp; see `sheaf --help`"],
    [["florp", "--help"], "unknown command florp; see `sheaf --help`"],
    [["keys", "florp", "--help"], "unknown command keys florp; see `sheaf --help`"],
    [["--florp"], "See `sheaf --help`."],
    [["keys", "create", "--florp"], "See `sheaf keys create --help`."],
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
});

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

  it("refuses an unknown command with exit code 2", async () => {
    const errors: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => errors.push(String(text)) > 0);
    expect(await main(["florp"])).toBe(2);
    expect(errors.join("")).toContain("florp");
  });
});

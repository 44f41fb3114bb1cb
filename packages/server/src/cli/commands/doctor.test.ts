/** `sheaf doctor` where there is nothing to examine; test/damage holds it to what it finds. */
import { createLocalEngine } from "@sheaf/engine/local";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { main } from "../main.ts";

it.each(["to", "tenant", "database"])("refuses --%s without --salvage", async (option) => {
  const errors = vi.spyOn(console, "error").mockReturnValue();
  expect(await main(["doctor", `--${option}`, "any"])).toBe(2);
  expect(errors.mock.calls).toEqual([[`sheaf: --${option} needs --salvage with a collection`]]);
  errors.mockRestore();
});

it.each([[[]], [["--salvage", "any", "--to", "/tmp/never"]]])(
  "says that the data folder does not exist, with %j",
  async (options) => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    expect(await main(["doctor", "--data", "/tmp/no/such/folder", ...options])).toBe(2);
    expect(errors.mock.calls).toEqual([["sheaf: data folder /tmp/no/such/folder does not exist"]]);
    errors.mockRestore();
  },
);

it.each([
  ["/tmp", "--to: /tmp exists already; name a file that does not"],
  ["/tmp/no/such/folder/file", "--to: the folder /tmp/no/such/folder does not exist"],
])("refuses to save what can be read to %s", async (to, message) => {
  const errors = vi.spyOn(console, "error").mockReturnValue();
  expect(await main(["doctor", "--data", "/tmp", "--salvage", "any", "--to", to])).toBe(2);
  expect(errors.mock.calls).toEqual([[`sheaf: ${message}`]]);
  errors.mockRestore();
});

it("calls a folder with nothing but a warning healthy, and ends with 1", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-doctor-"));
  await (await createLocalEngine({ dataFolder: folder })).close();
  writeFileSync(join(folder, "root-key"), "0123456789abcdefghijklmnopqrstuvwxyz", { mode: 0o644 });
  const out = vi.spyOn(console, "log").mockReturnValue();
  expect(await main(["doctor", "--data", folder])).toBe(1);
  const lines = out.mock.calls.map(([line]) => String(line));
  expect(lines[0]).toMatch(/^warning: .*others than its owner may read the root key/u);
  expect(lines.at(-1)).toContain(": healthy, with warnings; 0 collections");
  out.mockClear();
  expect(await main(["doctor", "--data", folder, "--json"])).toBe(1);
  expect(JSON.parse(String(out.mock.calls[0]?.[0]))).toMatchObject({ healthy: true });
  out.mockRestore();
  rmSync(folder, { recursive: true });
});

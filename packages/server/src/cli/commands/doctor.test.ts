/** `sheaf doctor` where there is nothing to examine; test/damage holds it to what it finds. */
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

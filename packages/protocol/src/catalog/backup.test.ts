import { describe, expect, it } from "vitest";
import { parseBackupBody } from "./backup.ts";
import { bodyOf, refusalOf } from "./testing/refusal.ts";

const NAME_RULE = "must be 1 to 128 letters, digits, dots, hyphens and underscores, and not begin with a dot";

describe("parseBackupBody", () => {
  it("reads what is given, and leaves out nothing else", () => {
    expect(parseBackupBody(bodyOf({ name: "2030-01-31" }))).toEqual({
      name: "2030-01-31",
      base: null,
      tenant: null,
      keys: true,
    });
    expect(parseBackupBody(bodyOf({ name: "b", incremental: "a", tenant: "acme", keys: false }))).toEqual({
      name: "b",
      base: "a",
      tenant: "acme",
      keys: false,
    });
  });

  it.each<[object, string]>([
    [{}, "422 name: is required"],
    [{ name: 1 }, "422 name: must be a string"],
    [{ name: "" }, `400 name: ${NAME_RULE}`],
    [{ name: ".." }, `400 name: ${NAME_RULE}`],
    [{ name: "a/b" }, `400 name: ${NAME_RULE}`],
    [{ name: "a\\b" }, `400 name: ${NAME_RULE}`],
    [{ name: "a\u0000" }, `400 name: ${NAME_RULE}`],
    [{ name: "n".repeat(129) }, `400 name: ${NAME_RULE}`],
    [{ name: "a", incremental: "../a" }, `400 incremental: ${NAME_RULE}`],
    [{ name: "a", incremental: "a" }, "400 incremental: must be another backup"],
    [{ name: "a", tenant: "x" }, "400 tenant: must be 3 to 128 bytes long"],
    [{ name: "a", keys: "yes" }, "422 keys: must be true or false"],
    [
      { name: "a", tenat: "acme" },
      "422 tenat: is unknown, expected `name`, `incremental`, `tenant` or `keys`",
    ],
  ])("refuses %j", (body, refusal) => {
    expect(refusalOf(() => parseBackupBody(bodyOf(body)))).toBe(refusal);
  });
});

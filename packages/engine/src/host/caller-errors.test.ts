import { SheafError } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { unreadable } from "../collection/damage/damaged-collections.ts";
import type { EngineLogEntry } from "../engine-log.ts";
import { CorruptDataError, damagedStore } from "../storage/corrupt-data-error.ts";
import { OBJECTS_UNKNOWN } from "../storage/log/checkpoint-files.ts";
import { CallerErrors, cannotStart } from "./caller-errors.ts";

const PLACES = [
  damagedStore("catalog", "page 3 is no page"),
  new CorruptDataError({ store: "catalog", key: new Uint8Array([1, 2]) }, 7, "the fields are not JSON"),
];

describe("what callers hear", () => {
  it.each(PLACES)("keeps the place of damage to the log, which has it once: %s", (damage) => {
    const logged: EngineLogEntry[] = [];
    const errors = new CallerErrors((entry) => logged.push(entry));
    for (let round = 0; round < 2; round++) {
      expect(errors.translate(damage)).toMatchObject({
        code: "collection_unavailable",
        message:
          "stored data that the server needs for this is damaged; the operator of the server finds in its log what to do",
      });
    }
    expect(logged).toMatchObject([{ level: "error", message: damage.message }]);
  });

  it("is told to the operator where a setting lacks", () => {
    const logged: EngineLogEntry[] = [];
    const errors = new CallerErrors((entry) => logged.push(entry));
    const error = new SheafError("unavailable", OBJECTS_UNKNOWN);
    for (let round = 0; round < 2; round++) expect(errors.translate(error)).toBe(error);
    expect(logged).toMatchObject([{ level: "error", message: expect.stringContaining("--objects") }]);
  });

  it("is otherwise as it is", () => {
    const errors = new CallerErrors(() => expect.unreachable());
    for (const error of [new Error("ours"), new SheafError("not_found", "no"), unreadable("id")])
      expect(errors.translate(error)).toBe(error);
    expect(cannotStart()).toMatchObject({ status: 500, message: expect.not.stringContaining("doctor") });
  });
});

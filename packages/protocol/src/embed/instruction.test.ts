import { describe, expect, it } from "vitest";
import { refusalOf } from "../catalog/testing/refusal.ts";
import { resolveInstruction } from "./instruction.ts";

const CODE_QUERY = "Given a question about coding, retrieval code or passage that can solve user's question";

describe("resolveInstruction", () => {
  it.each([
    [null, "nl_to_code", "query", CODE_QUERY],
    [null, "nl_to_code", "documents", ""],
    [null, "nl_to_code", "", ""],
    [null, "", "query", ""],
    [null, "", "", ""],
    [null, null, null, ""],
    ["", null, null, ""],
    ["Find it", null, null, "Find it"],
    ["Find it", "nl_to_code", "query", "Find it"],
    ["", "nl_to_code", "query", ""],
  ])("instructions %j, task %j, target %j", (instructions, task, target, expected) => {
    expect(resolveInstruction({ instructions, task, target })).toBe(expected);
  });

  it.each([
    ["nl_to_sql", "query", "400 task: is unknown, expected `nl_to_code`, or an empty string for none"],
    ["constructor", "query", "400 task: is unknown, expected `nl_to_code`, or an empty string for none"],
    [
      "nl_to_code",
      "queries",
      "400 target: is unknown, expected `documents` or `query`, or an empty string for none",
    ],
    ["", "x", "400 target: is unknown, expected `documents` or `query`, or an empty string for none"],
  ])("refuses task %j with target %j, whether instructions win or not", (task, target, refusal) => {
    expect(refusalOf(() => resolveInstruction({ instructions: null, task, target }))).toBe(refusal);
    expect(refusalOf(() => resolveInstruction({ instructions: "", task, target }))).toBe(refusal);
  });

  it("reads another table where one is given", () => {
    const table = { faq: { documents: "d", query: "q" } };
    expect(resolveInstruction({ instructions: null, task: "faq", target: "documents" }, table)).toBe("d");
    expect(
      refusalOf(() => resolveInstruction({ instructions: null, task: "nl_to_code", target: "query" }, table)),
    ).toMatch(/^400 task/);
  });
});

import { describe, expect, it } from "vitest";
import { bodyOf, refusalOf } from "../catalog/testing/refusal.ts";
import { LIMITS } from "../limits.ts";
import { checkTextSizes, parseEmbedBody } from "./embed-body.ts";

const PLAIN = {
  ...{ texts: ["hello"], instructions: "", task: null, target: null, truncate: null },
  ...{ labels: false, pieces: false },
};
const WITH_PIECES = { instructions: "", fetch_pieces: true };

describe("parseEmbedBody", () => {
  it("reads what shipped dense clients send", () => {
    expect(parseEmbedBody(bodyOf({ instructions: "", texts: ["hello"] }))).toEqual(PLAIN);
  });

  it("reads what shipped sparse clients send", () => {
    const body = { texts: ["hello"], task: "", target: "", fetch_tokens: "true" };
    expect(parseEmbedBody(bodyOf(body))).toEqual({
      ...PLAIN,
      instructions: null,
      task: "",
      target: "",
      labels: true,
    });
  });

  it("takes no texts, nulls and unknown fields", () => {
    const body = { texts: [], instructions: "i", task: null, target: null, fetch_labels: null, more: {} };
    expect(parseEmbedBody(bodyOf(body))).toEqual({ ...PLAIN, texts: [], instructions: "i" });
  });

  it.each([
    [{}, null],
    [{ truncate: null }, null],
    [{ truncate: "none" }, "none"],
    [{ truncate: "end" }, "end"],
    [{ truncate: "start" }, "start"],
    [{ truncate: true }, "end"],
    [{ truncate: false }, "none"],
  ])("reads what to cut of %j", (more, truncate) => {
    expect(parseEmbedBody(bodyOf({ texts: [], instructions: "", ...more })).truncate).toBe(truncate);
  });

  it.each([
    [{ fetch_labels: true }, true],
    [{ fetch_labels: "true" }, true],
    [{ fetch_tokens: true }, true],
    [{ fetch_labels: true, fetch_tokens: "true" }, true],
    [{ fetch_labels: false }, false],
    [{ fetch_tokens: "false" }, false],
    [{ fetch_labels: null, fetch_tokens: "true" }, true],
    [{ fetch_labels: false, fetch_tokens: "false" }, false],
  ])("reads the label flags of %j", (flags, labels) => {
    expect(parseEmbedBody(bodyOf({ texts: [], instructions: "", ...flags })).labels).toBe(labels);
  });

  it.each([
    ["null", "400 must be an object"],
    ["[]", "400 must be an object"],
    ['{"instructions":""}', "400 texts: is required"],
    ['{"instructions":"","texts":null}', "400 texts: is required"],
    ['{"instructions":"","texts":"a"}', "400 texts: must be an array"],
    ['{"instructions":"","texts":["a",1]}', "400 texts[1]: must be a string"],
    ['{"instructions":"","texts":["a",null]}', "400 texts[1]: must be a string"],
    ['{"texts":["a"]}', "400 instructions: is required, unless both task and target are present"],
    [
      '{"texts":["a"],"instructions":null}',
      "400 instructions: is required, unless both task and target are present",
    ],
    ['{"texts":["a"],"task":""}', "400 instructions: is required, unless both task and target are present"],
    [
      '{"texts":["a"],"task":"","target":null}',
      "400 instructions: is required, unless both task and target are present",
    ],
    ['{"texts":["a"],"instructions":1}', "400 instructions: must be a string"],
    ['{"texts":["a"],"task":1,"target":""}', "400 task: must be a string"],
    ['{"texts":["a"],"task":"","target":[]}', "400 target: must be a string"],
    [
      '{"texts":[],"instructions":"","truncate":"middle"}',
      "400 truncate: must be `none`, `end` or `start`, true or false",
    ],
    [
      '{"texts":[],"instructions":"","truncate":1}',
      "400 truncate: must be `none`, `end` or `start`, true or false",
    ],
    [
      '{"texts":[],"instructions":"","fetch_labels":1}',
      '400 fetch_labels: must be true or false, or "true" or "false"',
    ],
    [
      '{"texts":[],"instructions":"","fetch_tokens":"yes"}',
      '400 fetch_tokens: must be true or false, or "true" or "false"',
    ],
    [
      '{"texts":[],"instructions":"","fetch_labels":true,"fetch_tokens":"false"}',
      "400 fetch_tokens: contradicts fetch_labels, which means the same",
    ],
  ])("refuses %s", (text, refusal) => {
    expect(refusalOf(() => parseEmbedBody(bodyOf(text)))).toBe(refusal);
  });

  it("holds the bound on texts", () => {
    const body = (count: number): unknown => ({ instructions: "", texts: Array(count).fill("a") });
    expect(parseEmbedBody(body(LIMITS.embedTexts)).texts).toHaveLength(LIMITS.embedTexts);
    expect(refusalOf(() => parseEmbedBody(body(LIMITS.embedTexts + 1)))).toBe(
      `400 texts: holds ${LIMITS.embedTexts + 1} texts, the limit is ${LIMITS.embedTexts}`,
    );
  });
});

describe("pieces of texts", () => {
  it("are asked for by a flag, for some texts", () => {
    const body = (count: number) => bodyOf({ ...WITH_PIECES, texts: Array(count).fill("a") });
    expect(parseEmbedBody(body(LIMITS.piecesTexts)).pieces).toBe(true);
    expect(refusalOf(() => parseEmbedBody(body(LIMITS.piecesTexts + 1)))).toBe(
      "400 texts: holds 101 texts, the limit with `fetch_pieces` is 100",
    );
    expect(refusalOf(() => parseEmbedBody(bodyOf({ ...WITH_PIECES, texts: [], fetch_pieces: 1 })))).toMatch(
      /^400 fetch_pieces/u,
    );
  });
});

describe("checkTextSizes", () => {
  it("counts bytes, not characters", () => {
    const atLimit = "é".repeat(LIMITS.textBytes / 2);
    expect(() => checkTextSizes(["", "a".repeat(LIMITS.textBytes), atLimit], "too_large")).not.toThrow();
    expect(refusalOf(() => checkTextSizes(["a", `${atLimit}a`], "too_large"))).toBe(
      `413 texts[1]: is over ${LIMITS.textBytes} bytes`,
    );
    expect(refusalOf(() => checkTextSizes([`${atLimit}a`], "invalid_argument"))).toMatch(/^400 texts\[0\]/);
  });
});

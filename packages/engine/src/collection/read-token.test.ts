import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TokenScope, isTokenOf, makeReadToken, readSequence } from "./read-token.ts";

const SCOPE = { collection: randomUUID(), epoch: randomUUID() };
const MANY = 2 ** 33;
/** Tokens of other scopes that are taken for right at 1 in 2^20: two of these are one in a hundred million. */
const STRANGERS = 2_000;

const BATCH: string = randomUUID();

function tokenOf(sequence: number, scope: TokenScope = SCOPE, batch = BATCH): number {
  return makeReadToken(scope, { sequence, batch });
}

/** Where the state that the token names is of this batch. */
function sequenceOf(token: number, newest: number): number | null {
  const sequence = readSequence(token, newest);
  return sequence !== null && isTokenOf(SCOPE, { sequence, batch: BATCH }, token) ? sequence : null;
}

describe("a read token", () => {
  it.each([
    [0, 0],
    [5, 5],
    [5, 100_005],
    [MANY - 1, MANY - 1],
    [MANY - 1, MANY + 7],
    [MANY, MANY + 7],
    [5 * MANY - 3, 5 * MANY],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])("of operation %d names it when the newest is %d", (sequence, newest) => {
    const token = tokenOf(sequence);
    expect(Number.isSafeInteger(token) && token >= 0).toBe(true);
    expect(sequenceOf(token, newest)).toBe(sequence);
  });

  it("is a safe integer and reads back, wherever the sequence stands", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat(100_000), (sequence, since) => {
        const token = tokenOf(sequence);
        expect(Number.isSafeInteger(token)).toBe(true);
        const newest = Math.min(sequence + since, Number.MAX_SAFE_INTEGER);
        expect(sequenceOf(token, newest)).toBe(sequence);
      }),
    );
  });

  it("rises with the sequence", () => {
    const tokens = [0, 1, 2, 1_000, MANY - 1].map((sequence) => tokenOf(sequence));
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
  });

  it.each<[string, () => number]>([
    ["another collection", () => tokenOf(7, { ...SCOPE, collection: randomUUID() })],
    ["another epoch", () => tokenOf(7, { ...SCOPE, epoch: randomUUID() })],
    ["no epoch", () => tokenOf(7, { collection: randomUUID(), epoch: "" })],
    ["another batch", () => tokenOf(7, SCOPE, randomUUID())],
    ["no batch", () => tokenOf(7, { ...SCOPE, collection: randomUUID() }, "")],
  ])("of %s names nothing", (_, make) => {
    const taken = Array.from({ length: STRANGERS }, make).filter((token) => sequenceOf(token, 10) !== null);
    expect(taken.length).toBeLessThan(2);
  });

  it("of a state that is not there yet, or of very long ago, names nothing", () => {
    expect(sequenceOf(tokenOf(11), 10)).toBeNull();
    expect(sequenceOf(tokenOf(7), MANY + 10)).not.toBe(7);
  });
});

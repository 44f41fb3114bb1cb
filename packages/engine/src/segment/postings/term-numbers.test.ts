import { describe, expect, it } from "vitest";
import { TermNumbers } from "./term-numbers.ts";

/** Terms whose hashes fall on few places, and the outermost ones. */
const TERMS = [
  0,
  4_294_967_295,
  ...Array.from({ length: 3_000 }, (_, i) => Math.imul(i + 1, 0x1_0000) >>> 0),
];

describe("TermNumbers", () => {
  it("numbers terms in the order they come, each once", () => {
    const numbers = new TermNumbers();
    const distinct = [...new Set(TERMS)];
    for (const term of TERMS) expect(numbers.add(term)).toBe(distinct.indexOf(term));
    expect([...numbers.terms]).toStrictEqual(distinct);
    expect(distinct.map((term) => numbers.find(term))).toStrictEqual([...distinct.keys()]);
    expect(numbers.find(12_345)).toBe(-1);
  });

  it("finds the next known term of a stretch", () => {
    const numbers = new TermNumbers();
    for (const term of [0, 7, 4_294_967_295]) numbers.add(term);
    const terms = Uint32Array.of(7, 1, 2, 0, 3, 4_294_967_295);
    const next = (from: number, to: number): number => numbers.nextKnown(terms, from, to);
    expect([next(0, 6), next(1, 6), next(4, 6), next(4, 5), next(6, 6)]).toStrictEqual([0, 3, 5, 5, 6]);
  });
});

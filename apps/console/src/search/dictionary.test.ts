import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SearchForm, dictionaryOf, formOf } from "./dictionary.ts";

const forms: fc.Arbitrary<SearchForm> = fc.record({
  text: fc.string({ minLength: 1 }),
  leaves: fc.uniqueArray(
    fc.record({
      key: fc.constantFrom("#embedding", "bm25", "splade"),
      weight: fc.constantFrom(0, 0.5, 1, 3),
    }),
    { minLength: 1, selector: ({ key }) => key },
  ),
  candidates: fc.integer({ min: 1, max: 1_000 }),
  where: fc.constantFrom(null, { year: { $gt: 1990 } }, { $and: [{ a: 1 }, { b: "x" }] }),
  groupBy: fc.constantFrom("", "room"),
  limit: fc.integer({ min: 1, max: 1_000 }),
  rest: fc.constantFrom({}, { mmr: { lambda: 0.5 } }, { select: { keys: ["#document"] }, order_by: [] }),
});

describe("a search as form and dictionary", () => {
  it("is the same in both", () => {
    fc.assert(
      fc.property(forms, (form) => {
        const leaves = form.leaves.length === 1 ? [{ ...form.leaves[0]!, weight: 1 }] : form.leaves;
        expect(formOf(dictionaryOf(form))).toEqual({ ...form, leaves });
      }),
    );
  });

  it("has no form where the form would lose something", () => {
    expect(formOf({ rank: { $knn: { query: "x", key: "bm25", limit: 5 } }, mmr: { limit: 2 } })).toBeNull();
    expect(formOf({ rank: { $exp: { $knn: { query: "x", limit: 5 } } }, limit: { limit: 5 } })).toBeNull();
    expect(formOf({ limit: { limit: 5, offset: 10 } })).toBeNull();
    expect(formOf({ limit: { limit: 10 } })).not.toBeNull();
  });
});

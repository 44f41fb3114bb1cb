import { describe, expect, it } from "vitest";
import { rankByKey } from "./rendezvous.ts";

const PLACES = ["10.0.0.1:7000", "10.0.0.2:7000", "10.0.0.3:7000", "10.0.0.4:7000"].map((name) => ({ name }));
const KEYS = Array.from({ length: 4_000 }, (_, i) => `key ${i}`);
const firstOf = (places: typeof PLACES): readonly string[] =>
  KEYS.map((key) => rankByKey(places, key)[0]?.name ?? "");

describe("rendezvous hashing", () => {
  it("spreads keys evenly, in an order that does not depend on that of the places", () => {
    const firsts = firstOf(PLACES);
    for (const { name } of PLACES) {
      const share = firsts.filter((first) => first === name).length / KEYS.length;
      expect(share).toBeGreaterThan(0.2);
      expect(share).toBeLessThan(0.3);
    }
    expect(firstOf([...PLACES].reverse())).toEqual(firsts);
  });

  it("moves no keys but those of a place that has gone, each to its second", () => {
    const [gone, ...left] = PLACES;
    const [before, after] = [firstOf(PLACES), firstOf(left)];
    for (const [i, key] of KEYS.entries()) {
      const expected = before[i] === gone?.name ? rankByKey(PLACES, key)[1]?.name : before[i];
      expect(after[i]).toBe(expected);
    }
  });
});

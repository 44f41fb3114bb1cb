import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SplitMap } from "./split-map.ts";

describe("a map in parts", () => {
  it("holds what a map does", () => {
    const entries = fc.array(fc.tuple(fc.string({ maxLength: 40 }), fc.nat()));
    fc.assert(
      fc.property(entries, entries, (some, others) => {
        const [map, model] = [new SplitMap<number>(), new Map<string, number>()];
        for (const [key, value] of some) {
          map.set(key, value);
          model.set(key, value);
        }
        for (const [key] of [...some, ...others]) expect(map.get(key)).toBe(model.get(key));
        const ascending = (values: Iterable<number>): number[] => [...values].toSorted((a, b) => a - b);
        expect(ascending(map.values())).toEqual(ascending(model.values()));
        map.clear();
        expect([...map.values()]).toEqual([]);
      }),
    );
  });

  it.each([
    ["numbers", (i: number) => String(i)],
    ["UUIDs", () => randomUUID()],
    ["addresses", (i: number) => `https://example.com/pages/${i}/index.html`],
    ["padded numbers", (i: number) => `record-${String(i).padStart(12, "0")}`],
    ["chunks", (i: number) => `docs/${Math.floor(i / 20)}.md#${i % 20}`],
    [
      "offsets as bytes",
      (i: number) => `\u0002\0\0\0\0\0${String.fromCharCode(i >> 16, (i >> 8) & 255, i & 255)}`,
    ],
  ])("divides %s evenly enough", (_what, keyOf) => {
    const rows = 20_000;
    const map = new SplitMap<number>();
    for (let i = 0; i < rows; i++) map.set(keyOf(i), i);
    let [run, before] = [0, -1];
    let largest = 0;
    // Values of a part come in the order in which they were set, so each part is a run that ascends.
    for (const value of map.values()) {
      run = value > before ? run + 1 : 1;
      before = value;
      largest = Math.max(largest, run);
    }
    expect(largest).toBeLessThan(rows / 16);
  });
});

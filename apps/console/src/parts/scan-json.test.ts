import * as fc from "fast-check";
import { expect, it } from "vitest";
import { jsonParts, lineOf, lossIn, partAt } from "./scan-json.ts";

const TEXT = `{
  "rank": {"$sum": [{"$val": 1}, {"$knn": {"query": "a \\"b\\" {c}", "limit": 5}}]},
  "limit": {"limit": 3}
}`;

it("finds the member that a problem is about, or what is around it", () => {
  const shown = (path: string): string | null => {
    const part = partAt(TEXT, path);
    return part === null ? null : TEXT.slice(part.from, part.to);
  };
  expect(shown("rank.$sum[1].$knn.limit")).toBe('"limit"');
  expect(partAt(TEXT, "rank.$sum[1].$knn.limit")?.from).toBeLessThan(TEXT.indexOf('"limit": {'));
  expect(shown("limit.limit")).toBe('"limit"');
  expect(lineOf(TEXT, partAt(TEXT, "limit.limit")!.from)).toBe(3);
  expect(shown("rank.$sum[0]")).toBe("{");
  expect(shown("rank.$sum[1].$knn.key")).toBe('"$knn"');
  expect(shown("ranking")).toBe("{");
  expect(partAt("", "a")).toBeNull();
});

it.each([
  ['{"n": 9007199254740993}', /^n: a browser would change the number 9007199254740993/u],
  ['{"a": [{"n": 1e400}]}', /^a\[0\]\.n: /u],
  ['{"a": {"b": 1, "b": 2}}', /^a\.b: is there twice/u],
])("tells what a browser loses of %s", (text, loss) => {
  expect(lossIn(text)).toMatch(loss);
});

it("takes what JSON.stringify writes for what it is", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value, null, 1);
      expect(lossIn(text)).toBeNull();
      const scalars = [...jsonParts(text)].filter(({ raw }) => raw !== "");
      for (const { raw } of scalars) expect(() => void JSON.parse(raw)).not.toThrow();
    }),
  );
});

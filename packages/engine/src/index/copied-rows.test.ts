/** Searches of filters that were asked for before, of which every segment has the codes side by side. */
import { expect, it } from "vitest";
import { sampler } from "../segment/dense/testing/data-sets.ts";
import { Indexed } from "./testing/indexed.ts";

const ROWS = 16_384;
/** Of so many filters each row is kept by one. Copies of half of them fit a segment. */
const FILTERS = 20;
const QUERIES = 40;

it("find the same whatever else is searched between their steps", () => {
  const source = sampler("clusters", 32, 3);
  const indexed = new Indexed("cosine", {
    denseRows: 1_024,
    sizes: { mutableRows: 4_096, sealedRows: 8_192 },
  });
  for (let row = 0; row < ROWS; row++) indexed.put(row, source.next().vector);
  indexed.maintain(true);
  expect(indexed.index.segments.filter(({ segment }) => segment.isSealed).length).toBeGreaterThan(1);
  const filters = Array.from({ length: FILTERS }, (_, i) => indexed.rows((offset) => offset % FILTERS === i));
  const queries = Array.from({ length: QUERIES }, () => source.next().vector);
  const find = (i: number, meanwhile?: () => void) =>
    indexed.search(queries[i % QUERIES]!, 10, {
      rows: filters[i % FILTERS]!,
      ...(meanwhile && { meanwhile }),
    });
  for (let i = 0; i < FILTERS; i++) find(i);
  const alone = queries.map((_, i) => find(i));
  const exact = queries.map((query, i) =>
    indexed.search(query, 10, { rows: filters[i % FILTERS]!, exact: true }),
  );
  const missed = exact.flatMap((found, i) =>
    found.filter(([offset]) => !alone[i]!.some(([at]) => at === offset)),
  );
  expect(missed.length).toBeLessThanOrEqual((10 * QUERIES) / 50);
  // Of the same filter, whose query the segments then know.
  expect(queries.map((_, i) => find(i, () => find(i + FILTERS)))).toEqual(alone);
  // Of so many others that the copy has to make room, and is made anew elsewhere.
  const others = (i: number) => (): void => {
    for (let other = 1; other < FILTERS; other++) find(i + other);
  };
  expect(queries.slice(0, 5).map((_, i) => find(i, others(i)))).toEqual(alone.slice(0, 5));
  indexed.index.close();
});

import { describe, expect, it } from "vitest";
import { normal, seededRandom } from "../../measure/random.ts";
import { FILTERS, type FilterName } from "./filters.ts";
import { K, TruthFinder, mergeFound, truthOf } from "./ground-truth.ts";
import { recordContent } from "./record-content.ts";

const [rows, dimension, queries] = [300, 7, 6];
const SEED = 5;
const NAMES = ["all", "f5", "adversarial"] as const satisfies readonly FilterName[];

describe("the exact answers", () => {
  const random = seededRandom(SEED);
  const draw = (count: number): Float32Array =>
    new Float32Array(count * dimension).map(() => 3 * normal(random));
  const groupsOf = (count: number): Uint16Array =>
    new Uint16Array(count).map(() => Math.floor(20 * random()));
  const vectors = draw(rows);
  const groups = groupsOf(rows);
  const asked = { dimension, queries, queryVectors: draw(queries), queryGroups: groupsOf(queries) };

  const cosine = (query: number, row: number): number => {
    const of = (values: Float32Array, at: number): number[] => [
      ...values.subarray(at * dimension, (at + 1) * dimension),
    ];
    const [a, b] = [of(asked.queryVectors, query), of(vectors, row)];
    return a.reduce((sum, x, j) => sum + x * b[j]!, 0) / (Math.hypot(...a) * Math.hypot(...b));
  };
  const naive = (name: FilterName, query: number): number[] => {
    const { keeps } = FILTERS[name](query, asked.queryGroups[query]!);
    const kept = Array.from({ length: rows }, (_, row) => row).filter((row) =>
      keeps(recordContent(row, groups[row]!)),
    );
    return kept.toSorted((a, b) => cosine(query, b) - cosine(query, a)).slice(0, K);
  };

  it("are those of a naive search, whatever blocks the rows come in and whoever looks at them", () => {
    const finders = [new TruthFinder(asked, NAMES), new TruthFinder(asked, NAMES)];
    for (const [finder, from, to] of [
      [0, 0, 90],
      [0, 90, 97],
      [1, 97, rows],
    ] as const)
      finders[finder]!.add(
        from,
        vectors.subarray(from * dimension, to * dimension),
        groups.subarray(from, to),
      );
    const { nearest, topCosine } = truthOf(finders.map(({ found }) => found).reduce(mergeFound));
    for (const name of NAMES)
      for (let query = 0; query < queries; query++)
        expect(nearest[name][query], `${name}, query ${query}, seed ${SEED}`).toEqual(naive(name, query));
    expect(topCosine).toBeCloseTo(
      nearest.all.reduce((sum, [best = 0], query) => sum + cosine(query, best), 0) / queries,
      6,
    );
  });
});

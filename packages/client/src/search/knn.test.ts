/** How deep the queries of a search look: as far as its page, unless they say otherwise. */
import { describe, expect, it } from "vitest";
import { Knn, knn } from "./knn.ts";
import { RankExpression, type RankInput } from "./rank.ts";
import { rrf } from "./rrf.ts";

const limits = (rank: RankInput, pageEnd: number): readonly string[] => [
  ...(JSON.stringify(RankExpression.jsonFor(rank, pageEnd)).match(/"(?:limit|default)":\d+/gu) ?? []),
];

describe("a query of a search", () => {
  it.each<[string, RankInput, number, readonly string[]]>([
    ["knn finds as many as the page needs", knn({ query: "q" }), 50, ['"limit":50']],
    ["knn finds 16 at least", knn({ query: "q" }), 5, ['"limit":16']],
    ["knn with a limit finds that many", knn({ query: "q", limit: 50 }), 5, ['"limit":50']],
    ["knn with a limit finds no more", knn({ query: "q", limit: 7 }), 50, ['"limit":7']],
    ["Knn finds 128 at least", Knn({ query: "q" }), 5, ['"limit":128']],
    ["Knn finds as many as the page needs", Knn({ query: "q" }), 200, ['"limit":200']],
    ["it does so inside of arithmetic", knn({ query: "q" }).divide(2).add(1).abs(), 50, ['"limit":50']],
    ["JSON is left as it is", { $knn: { query: "q" } }, 50, []],
    [
      "rrf scores what it misses as the last that it finds",
      rrf({ ranks: [{ query: "q" }, { query: "q", key: "bm25", limit: 20, default: 30 }] }),
      150,
      ['"limit":150', '"default":150', '"limit":20', '"default":30'],
    ],
  ])("%s", (_, rank, pageEnd, expected) => {
    expect(limits(rank, pageEnd)).toEqual(expected);
  });

  it("of rrf gives positions", () => {
    expect(rrf({ ranks: [{ query: "q" }], k: 1, weights: [2] }).toJSON()).toEqual({
      $mul: [
        {
          $div: {
            left: { $val: 2 },
            right: {
              $sum: [
                { $knn: { query: "q", key: "#embedding", limit: 100, default: 100, return_rank: true } },
                { $val: 1 },
              ],
            },
          },
        },
        { $val: -1 },
      ],
    });
  });

  it("may be typed arrays, and sparse vectors", () => {
    expect(knn({ query: Float32Array.of(0.5, 1), exact: true }).toJSON()).toEqual({
      $knn: { query: [0.5, 1], key: "#embedding", limit: 16, exact: true },
    });
    const sparse = { "#type": "sparse_vector", indices: [1], values: [2] };
    expect(knn({ query: sparse, key: "bm25", default: 0 }).toJSON()).toEqual({
      $knn: { query: { indices: [1], values: [2] }, key: "bm25", limit: 16, default: 0 },
    });
  });
});

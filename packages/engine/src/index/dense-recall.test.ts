import type { Space } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { type DataSet, randomOf, sampler } from "../segment/dense/testing/data-sets.ts";
import type { RowSet } from "./row-set.ts";
import { Indexed } from "./testing/indexed.ts";

describe("recall", () => {
  const rows = 14_000;
  const dimension = 128;

  interface Labelled {
    readonly vector: Float32Array;
    readonly group: number;
  }

  it.each<[DataSet, Space]>([
    ["clusters", "cosine"],
    ["topics", "cosine"],
    ["topics", "l2"],
    ["topics", "ip"],
  ])("is at least 0.99 on %s in %s, whatever the filter", (dataSet, space) => {
    const source = sampler(dataSet, dimension, 1);
    const data = Array.from({ length: rows }, () => source.next());
    const indexed = new Indexed(space, {
      denseRows: 1_024,
      sizes: { mutableRows: 4_096, sealedRows: 131_072 },
    });
    const queries = Array.from({ length: 100 }, () => source.next());
    /** Recall@10 over all queries, against exact search. */
    const recall = (keeps: (query: Labelled) => ((offset: number) => boolean) | null): number => {
      let wanted = 0;
      let found = 0;
      const sets = new Map<unknown, RowSet>();
      for (const query of queries) {
        const filter = keeps(query);
        const set =
          filter === null ? indexed.index.snapshot().live : (sets.get(filter) ?? indexed.rows(filter));
        sets.set(filter, set);
        const truth = indexed.search(query.vector, 10, { rows: set, exact: true });
        const near = new Set(indexed.search(query.vector, 10, { rows: set }).map(([offset]) => offset));
        wanted += truth.length;
        found += truth.filter(([offset]) => near.has(offset)).length;
      }
      return found / wanted;
    };
    for (const [row, { vector }] of data.entries()) indexed.put(row, vector);
    while (indexed.rest() > 0) indexed.index.maintain(false);
    expect(recall(() => null)).toBeGreaterThanOrEqual(0.99);
    expect(indexed.index.maintain(false)).toBe(true);
    indexed.maintain(true);
    expect(recall(() => null)).toBeGreaterThanOrEqual(0.99);
    const random = randomOf(5);
    const draws = data.map(() => random());
    for (const share of [0.5, 0.05, 0.001]) {
      const keeps = (offset: number): boolean => draws[offset]! < share;
      expect(recall(() => keeps)).toBeGreaterThanOrEqual(0.99);
    }
    // 5 % of the rows, none of them of the query's own group.
    const against =
      ({ group }: Labelled) =>
      (offset: number): boolean =>
        draws[offset]! < 0.05 && data[offset]!.group !== group;
    expect(recall(against)).toBeGreaterThanOrEqual(0.99);
    // Whole groups, about 5 % of them, not the query's own.
    const groups =
      ({ group }: Labelled) =>
      (offset: number): boolean =>
        (data[offset]!.group + 10) % 20 === group % 20;
    expect(recall(groups)).toBeGreaterThanOrEqual(0.99);
    indexed.index.close();
  });

  it("is at least 0.99 in l2 among vectors of which some are millions of times as long", () => {
    const source = sampler("topics", dimension, 1);
    const indexed = new Indexed("l2", {
      denseRows: 1_024,
      sizes: { mutableRows: 4_096, sealedRows: 131_072 },
    });
    const isLong = (row: number): boolean => row % 100 === 5;
    const size = 5_000;
    for (let row = 0; row < size; row++) {
      const { vector } = source.next();
      indexed.put(row, isLong(row) ? vector.map((value) => value * 10 ** (3 + (row % 8))) : vector);
    }
    indexed.maintain(true);
    const { live } = indexed.index.snapshot();
    let found = 0;
    const queries = 100;
    for (let i = 0; i < queries; i++) {
      const { vector } = source.next();
      const truth = indexed.search(vector, 10, { rows: live, exact: true });
      const near = new Set(indexed.search(vector, 10, { rows: live }).map(([offset]) => offset));
      found += truth.filter(([offset]) => near.has(offset)).length;
    }
    expect(found / (10 * queries)).toBeGreaterThanOrEqual(0.99);
    indexed.index.close();
  });

  it.each<DataSet>(["clusters", "topics"])("is at least 0.997 over many segments on %s", (dataSet) => {
    const source = sampler(dataSet, dimension, 1);
    const indexed = new Indexed("cosine", {
      denseRows: 1_024,
      sizes: { mutableRows: 1_024, sealedRows: 2_048 },
    });
    for (let row = 0; row < rows; row++) indexed.put(row, source.next().vector);
    while (indexed.rest() > 0) indexed.index.maintain(false);
    indexed.maintain(true);
    const { live, segments } = indexed.index.snapshot();
    expect(segments.length).toBeGreaterThanOrEqual(6);
    let found = 0;
    const queries = 500;
    for (let i = 0; i < queries; i++) {
      const { vector } = source.next();
      const truth = indexed.search(vector, 10, { rows: live, exact: true });
      const near = new Set(indexed.search(vector, 10, { rows: live }).map(([offset]) => offset));
      found += truth.filter(([offset]) => near.has(offset)).length;
    }
    expect(found / (10 * queries)).toBeGreaterThanOrEqual(0.997);
    indexed.index.close();
  });
});

/** Facets against the oracle on random collections; `SHEAF_FACETS_SEED` repeats a run. */
import {
  type Facet,
  type FacetsRequest,
  type MetadataKind,
  type MetadataValue,
  metadataKind,
} from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BLOCK_DOCS } from "../../segment/block-docs.ts";
import { executeFacets } from "../execute.ts";
import { Pace } from "../pace.ts";
import { contents, plans, wheres, writes } from "../testing/arbitraries.ts";
import { FiledCollection } from "../testing/filed-collection.ts";
import { oracleFacets } from "../testing/oracle-facets.ts";
import { TestCollection } from "../testing/test-collection.ts";
import { countFacets } from "./facets.ts";

const SEED = Number(process.env["SHEAF_FACETS_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`facets: SHEAF_FACETS_SEED=${SEED}`);

const PLAN = { space: "l2", embeddingFunction: null, sparse: [] } as const;
const ALL: FacetsRequest = { ids: null, where: null, keys: ["k"], limit: 10, histogram: null };

const requests: fc.Arbitrary<FacetsRequest> = fc.record({
  ids: fc.option(fc.constant(["r1", "r2", "r3", "r9", "r17", "unknown"]), { freq: 5 }),
  where: wheres,
  keys: fc.uniqueArray(fc.constantFrom("i", "n", "s", "b", "list", "idf", "absent"), { minLength: 1 }),
  limit: fc.oneof(fc.nat(4), fc.constant(100)),
  histogram: fc.option(fc.integer({ min: 1, max: 7 })),
});

/** As a collection that has learnt them from its writes. */
function kindsIn(collection: TestCollection): (key: string) => ReadonlySet<MetadataKind> {
  const kinds = new Map<string, Set<MetadataKind>>();
  for (const { metadata } of collection.records) {
    for (const [key, value] of metadata ?? []) {
      const known = kinds.get(key) ?? new Set();
      kinds.set(key, known.add(metadataKind(value)));
    }
  }
  return (key) => kinds.get(key) ?? new Set();
}

/** With what is known of kinds, without it, and with room for so little that values are counted in parts. */
async function counted(collection: TestCollection, request: FacetsRequest): Promise<(readonly Facet[])[]> {
  const { context } = collection;
  const kindsOf = kindsIn(collection);
  const snapshot = collection.index.snapshot();
  const part = { snapshot, pace: new Pace(undefined), kindsOf, room: { small: 100, large: 300 } };
  const isWhole = request.where === null && request.ids === null;
  return [
    await executeFacets(context, request),
    await executeFacets({ ...context, kindsOf }, request),
    ...(isWhole ? [await countFacets(request, snapshot.live, part)] : []),
  ];
}

async function expectRight(collection: TestCollection, request: FacetsRequest): Promise<void> {
  const expected = oracleFacets(collection, request);
  for (const found of await counted(collection, request)) expect(found).toStrictEqual(expected);
}

function collectionOf(...values: (MetadataValue | null)[]): TestCollection {
  const collection = new TestCollection(PLAN);
  for (const [i, value] of values.entries()) {
    const metadata = value === null ? null : new Map([["k", value]]);
    collection.put(`${i}`, { embedding: Float32Array.of(1), document: null, uri: null, metadata });
  }
  return collection;
}

async function facet(collection: TestCollection, request: Partial<FacetsRequest> = {}): Promise<Facet> {
  const [found] = await executeFacets(collection.context, { ...ALL, ...request });
  return found!;
}

describe("facets", () => {
  it("count integers, floats, texts and members of arrays, each once for a record", async () => {
    const collection = collectionOf(1n, 1, 1n, Int8Array.of(1, 1, 2), "1", true, ["1", "a", "a"], [], null);
    expect(await facet(collection, { histogram: 2 })).toStrictEqual({
      key: "k",
      values: [
        { value: 1n, count: 3 },
        { value: "1", count: 2 },
        { value: true, count: 1 },
        { value: 2n, count: 1 },
        { value: 1, count: 1 },
        { value: "a", count: 1 },
      ],
      missing: 2,
      other: 0,
      min: 1n,
      max: 2n,
      histogram: [
        { from: 1, to: 1.5, count: 4 },
        { from: 1.5, to: 2, count: 1 },
      ],
    });
  });

  it("list no text over 256 characters, and count it", async () => {
    const collection = collectionOf("x".repeat(256), "x".repeat(257), "x".repeat(257), "é".repeat(300));
    const { values, other } = await facet(collection);
    expect(values).toStrictEqual([{ value: "x".repeat(256), count: 1 }]);
    expect(other).toBe(3);
  });

  it("have bounds beyond the difference that f64 can hold, and integers beyond its digits", async () => {
    const wide = await facet(collectionOf(-1.7e308, 1.7e308, 0), { histogram: 4 });
    expect(wide.histogram?.map(({ count }) => count)).toEqual([1, 0, 1, 1]);
    const close = await facet(collectionOf(2n ** 53n, 2n ** 53n + 1n), { histogram: 4 });
    expect(close).toMatchObject({ min: 2n ** 53n, max: 2n ** 53n + 1n, histogram: [{ count: 2 }] });
  });

  it("answer as the oracle does", async () => {
    await fc.assert(
      fc.asyncProperty(
        plans,
        writes(1),
        fc.array(requests, { minLength: 3, maxLength: 3 }),
        async (plan, list, asked) => {
          const collection = new TestCollection(plan);
          for (const write of list) {
            if (write.type === "put") collection.put(write.id, write.content);
            else collection.remove(write.id);
          }
          for (const request of asked) await expectRight(collection, request);
        },
      ),
      { seed: SEED, numRuns: 120 },
    );
  });

  it("answer alike by columns, in memory and in files, between writes", async () => {
    const collection = new FiledCollection(PLAN, { denseRows: 1_024 });
    const known = fc.sample(contents(1), { seed: SEED, numRuns: 97 });
    const put = (i: number, content: number): void =>
      collection.put(`r${i}`, known[(content * 7_919) % known.length]!);
    for (let i = 0; i < BLOCK_DOCS + 900; i++) put(i, i);
    for (const [i, request] of fc.sample(requests, { seed: SEED, numRuns: 24 }).entries()) {
      for (let j = 0; j < 3; j++) put((i * 37 + j * 1_009) % 6_000, i + j);
      collection.remove(`r${(i * 53) % 6_000}`);
      await expectRight(collection, request);
      if (i === 8) {
        collection.seal();
        await collection.flush();
      }
      if (i === 16) await collection.reopen();
    }
    expect(collection.problems).toEqual([]);
    await collection.close();
  });
});

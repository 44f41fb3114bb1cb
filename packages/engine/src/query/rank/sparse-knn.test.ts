import { setTimeout } from "node:timers/promises";
import type { IndexPlan, SparseVector } from "@sheaf/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { randomOf } from "../../segment/dense/testing/data-sets.ts";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import { BLOCK_DOCS } from "../../segment/block-docs.ts";
import { listBits } from "../../segment/bits.ts";
import { RowSet } from "../../index/row-set.ts";
import type { SparseBlock } from "../../segment/postings/sparse-block.ts";
import { SideThread } from "../../index/side-thread.ts";
import { sparseParts } from "../../index/sparse-parts.ts";
import { compareTotal } from "../../segment/total-order.ts";
import { Pace } from "../pace.ts";
import { type SparseQuery, beginSparse } from "./sparse-knn.ts";
import { TestCollection } from "../testing/test-collection.ts";

const KEY = "terms";
const STATISTICS = { k: 1.2, b: 0.75 };
const PLAN: IndexPlan = {
  space: "l2",
  embeddingFunction: null,
  sparse: [{ key: KEY, bm25: false, sourceKey: null, embeddingFunction: null, statistics: STATISTICS }],
};
const ROWS = 3 * BLOCK_DOCS + 1_000;
const SIZES = { mutableRows: 4_096, sealedRows: 131_072 };
const f = Math.fround;
const random = randomOf(3);

/** Low terms are common, the lowest never negative; few different values, so that sums are equal often. */
function newVector(size: number): SparseVector {
  const terms = new Set(Array.from({ length: size }, () => Math.floor(2_000 ** random()) - 1));
  const indices = Uint32Array.from(terms).sort();
  return {
    indices,
    values: Float32Array.from(indices, (term) => Math.round(random() * 8 - (term < 2 ? 0 : 2)) / 4),
  };
}

function negated({ terms, values, ...query }: SparseQuery): SparseQuery {
  return { ...query, terms, values: values.map((value) => -value) };
}

/** Records and, kept apart from the index, the vectors that each version of a record had. */
class Vectors {
  readonly collection = new TestCollection(PLAN, { denseRows: 1_000, sizes: SIZES });
  /** Values by term, ascending, by the record's sequence number. */
  readonly #versions = new Map<number, ReadonlyMap<number, number>>();

  put(id: string, vector: SparseVector | null): void {
    const metadata = vector === null ? null : new Map([[KEY, vector]]);
    this.collection.put(id, { embedding: Float32Array.of(1), document: null, uri: null, metadata });
    const position = this.collection.index.position(id) ?? -1;
    const values = Array.from(vector?.indices ?? [], (term, i) => [term, vector!.values[i]!] as const);
    this.#versions.set(this.snapshot.sequence(position), new Map(values));
  }

  get snapshot(): IndexSnapshot {
    return this.collection.index.snapshot();
  }

  async built(): Promise<void> {
    while (this.collection.index.isBuilding) await setTimeout(1);
  }

  get blocks(): readonly SparseBlock[] {
    return sparseParts(this.snapshot, KEY).blocks.map(({ block }) => block);
  }

  async search(query: SparseQuery, rows: RowSet, snapshot = this.snapshot): Promise<unknown> {
    const finish = await this.begin(query, rows, { snapshot });
    return finish();
  }

  begin(
    query: SparseQuery,
    rows: RowSet,
    {
      sideThread = null,
      snapshot = this.snapshot,
    }: { sideThread?: SideThread | null; snapshot?: IndexSnapshot },
  ): Promise<() => Promise<unknown>> {
    return beginSparse(query, rows, { snapshot, pace: new Pace(undefined), sideThread });
  }

  /** What a search must find: vector by vector, term by term. */
  expected(query: SparseQuery, rows: RowSet, snapshot = this.snapshot): unknown {
    const { terms, values, idf, k, statistics } = query;
    const valuesAt = (position: number): ReadonlyMap<number, number> =>
      this.#versions.get(snapshot.sequence(position)) ?? new Map();
    const places = new Map(Array.from(terms, (term, i) => [term, i]));
    const holders = new Uint32Array(terms.length);
    for (const position of listBits(snapshot.live.words)) {
      for (const term of valuesAt(position).keys()) {
        const place = places.get(term);
        if (place !== undefined) holders[place]!++;
      }
    }
    const lengths = listBits(snapshot.live.words)
      .map((position) => lengthOf(valuesAt(position)))
      .filter((length) => length > 0);
    const weights = values.map((value, i) => {
      const records = statistics === undefined ? snapshot.size : lengths.length;
      const log = Math.log(1 + (records - holders[i]! + 0.5) / (holders[i]! + 0.5));
      if (statistics !== undefined) return value * f((statistics.k + 1) * log);
      return idf ? value * f(log) : value;
    });
    const average = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    const share = (value: number, length: number): number => {
      if (statistics === undefined) return value;
      const [floor, slope] = [
        f(statistics.k * (1 - statistics.b)),
        f((statistics.k * statistics.b) / average),
      ];
      return f(Math.max(value, 0) / f(Math.max(value, 0) + f(floor + f(slope * length))));
    };
    const hits = listBits(rows.words).flatMap((position) => {
      let sum: number | null = null;
      const length = lengthOf(valuesAt(position));
      for (const [term, value] of valuesAt(position)) {
        const place = places.get(term);
        if (place !== undefined) sum = f((sum ?? 0) + f(weights[place]! * share(value, length)));
      }
      return sum === null ? [] : [{ position, distance: f(1 - sum), offset: snapshot.offset(position) }];
    });
    hits.sort((a, b) => compareTotal(a.distance, b.distance) || a.offset - b.offset);
    const best = hits.slice(0, k);
    return {
      positions: Int32Array.from(best, ({ position }) => position),
      distances: Float32Array.from(best, ({ distance }) => distance),
      offsets: Float64Array.from(best, ({ offset }) => offset),
    };
  }
}

/** Of a document with these term frequencies. */
function lengthOf(values: ReadonlyMap<number, number>): number {
  const sum = [...values.values()].reduce((total, value) => total + Math.max(value, 0), 0);
  return values.size === 0 ? 0 : Math.max(1, Math.round(sum));
}

function queryOf(size: number, changes: Partial<SparseQuery> = {}): SparseQuery {
  const { indices: terms, values } = newVector(size);
  return { key: KEY, terms, values, idf: false, k: 100, ...changes };
}

/** About every third of the rows. */
function someRows(snapshot: IndexSnapshot): RowSet {
  return new RowSet(
    snapshot.bases,
    snapshot.live.words.map((word) => word & 0x9249_2492),
  );
}

const QUERIES: readonly SparseQuery[] = [
  queryOf(8),
  queryOf(29, { idf: true }),
  queryOf(29, { k: 1 }),
  queryOf(29, { statistics: STATISTICS }),
  negated(queryOf(29)),
  queryOf(29, { k: ROWS }),
  // More than one call of the kernel takes.
  queryOf(400, { idf: true, k: 10 }),
  queryOf(400, { idf: true, statistics: STATISTICS }),
  queryOf(0),
  { ...queryOf(1), terms: Uint32Array.of(4_294_967_295) },
];

/** Until the side thread works in all blocks that are shared. */
async function untilReady(sideThread: SideThread, vectors: Vectors): Promise<void> {
  // At rest others take their place.
  const shared = (): SparseBlock[] => vectors.blocks.filter(({ seat }) => seat !== null);
  expect(shared()).not.toHaveLength(0);
  while (sideThread.ready(shared()).includes(null)) await setTimeout(1);
}

/** Until every shared block has an answer to its newest search. */
async function untilDone({ blocks }: Vectors): Promise<void> {
  const isDone = ({ seat }: SparseBlock): boolean => seat?.isDone(seat.search) !== false;
  while (!blocks.every(isDone)) await setTimeout(1);
}

async function expectRight(vectors: Vectors): Promise<void> {
  const { snapshot } = vectors;
  for (const rows of [snapshot.live, someRows(snapshot), new RowSet(snapshot.bases)]) {
    // All at once: searches share the memory of the blocks.
    const found = await Promise.all(QUERIES.map((query) => vectors.search(query, rows)));
    expect(found).toStrictEqual(QUERIES.map((query) => vectors.expected(query, rows)));
  }
}

describe("sparseKnn", () => {
  const vectors = new Vectors();
  for (let i = 0; i < ROWS; i++) vectors.put(`r${i}`, i % 50 === 7 ? null : newVector(12));

  it("finds the same before, while and after lists are merged", async () => {
    await expectRight(vectors);
    await setTimeout(1);
    await expectRight(vectors);
    await vectors.built();
    await expectRight(vectors);
  });

  it("follows updates and deletes, and holds older snapshots to their state", async () => {
    const before = vectors.snapshot;
    const expected = QUERIES.map((query) => vectors.expected(query, before.live, before));
    for (let i = 0; i < ROWS; i++) {
      // The first segment loses most of its rows, so that it is sealed anew.
      if (i % 5 === 1 || i < 2 * BLOCK_DOCS) vectors.put(`r${i}`, newVector(12));
      else if (i % 7 === 2) vectors.collection.remove(`r${i}`);
    }
    const found = (): Promise<unknown> =>
      Promise.all(QUERIES.map((query) => vectors.search(query, before.live, before)));
    expect(await found()).toStrictEqual(expected);
    await expectRight(vectors);
    await vectors.built();
    expect(vectors.snapshot.segments).not.toContain(before.segments[0]);
    expect(await found()).toStrictEqual(expected);
    await expectRight(vectors);
  });

  it("ends when its signal is aborted, and leaves nothing behind", async () => {
    const [rows, controller] = [vectors.snapshot.live, new AbortController()];
    const pace = new Pace(controller.signal);
    const { snapshot } = vectors;
    const finish = await beginSparse(QUERIES[5]!, rows, { snapshot, pace, sideThread: null });
    const search = finish();
    controller.abort();
    await expect(search).rejects.toMatchObject({ code: "cancelled" });
    await expectRight(vectors);
    vectors.collection.index.close();
  });
});

describe("a side thread", () => {
  const vectors = new Vectors();
  for (let i = 0; i < ROWS + BLOCK_DOCS; i++) vectors.put(`r${i}`, newVector(12));
  const rows = (): RowSet => someRows(vectors.snapshot);
  const all = (): unknown[] => QUERIES.map((query) => vectors.expected(query, rows()));
  let sideThread = new SideThread();
  afterAll(async () => {
    await sideThread.close();
    vectors.collection.index.close();
  });

  it("finds the same before it works in a block and afterwards, and takes what it is left", async () => {
    await vectors.built();
    for (const isReady of [false, true]) {
      if (isReady) await untilReady(sideThread, vectors);
      for (const query of QUERIES) {
        const finish = await vectors.begin(query, rows(), { sideThread });
        expect(await finish()).toStrictEqual(vectors.expected(query, rows()));
      }
    }
    for (const query of QUERIES.slice(0, 4)) {
      const finish = await vectors.begin(query, rows(), { sideThread });
      await untilDone(vectors);
      expect(await finish()).toStrictEqual(vectors.expected(query, rows()));
    }
  });

  it("is at one search at a time, and the others find the same", async () => {
    await untilReady(sideThread, vectors);
    const rests = await Promise.all(QUERIES.map((query) => vectors.begin(query, rows(), { sideThread })));
    expect(await Promise.all(rests.map((finish) => finish()))).toStrictEqual(all());
  });

  it("forgets what it found for a search that did not come back for it", async () => {
    await untilReady(sideThread, vectors);
    const rests: (() => Promise<unknown>)[] = [];
    for (const query of QUERIES.slice(0, 4)) {
      rests.push(await vectors.begin(query, rows(), { sideThread }));
      await untilDone(vectors);
    }
    expect(await Promise.all(rests.map((finish) => finish()))).toStrictEqual(all().slice(0, 4));
  });

  it("hands back more rows than it can hand over", async () => {
    await untilReady(sideThread, vectors);
    const query = queryOf(29, { k: 2 * ROWS });
    const finish = await vectors.begin(query, vectors.snapshot.live, { sideThread });
    await setTimeout(100);
    expect(await finish()).toStrictEqual(vectors.expected(query, vectors.snapshot.live));
  });

  it("leaves blocks that are merged", async () => {
    await untilReady(sideThread, vectors);
    const before = vectors.blocks;
    for (let i = 0; i < BLOCK_DOCS; i++) vectors.put(`more${i}`, newVector(12));
    await vectors.built();
    expect(vectors.blocks).not.toStrictEqual(before);
    await untilReady(sideThread, vectors);
    const rests = await Promise.all(QUERIES.map((query) => vectors.begin(query, rows(), { sideThread })));
    expect(await Promise.all(rests.map((finish) => finish()))).toStrictEqual(all());
  });

  it("comes again after it has left, and is not asked once it is closed", async () => {
    await sideThread.close();
    expect(new Set(sideThread.ready(vectors.blocks))).toStrictEqual(new Set([null]));
    sideThread = new SideThread({ idleMs: 20 });
    for (let i = 0; i < 3; i++) {
      await untilReady(sideThread, vectors);
      const finish = await vectors.begin(QUERIES[0]!, rows(), { sideThread });
      expect(await finish()).toStrictEqual(all()[0]);
      await setTimeout(60);
    }
  });
});

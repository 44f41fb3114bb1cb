/** `@sheaf/client` against the real command: writes, reads and searches of records, and what their rows hold. */
import {
  ConflictError,
  GroupBy,
  type Highlight,
  K,
  Knn,
  MinK,
  NotFoundError,
  Rrf,
  Search,
  SheafClient,
  type Snippet,
  type SparseVector,
  age,
  fieldValue,
  hybridSchema,
  knn,
  rrf,
} from "@sheaf/client";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";

interface Point {
  readonly n: number;
  readonly parity: string;
  readonly note?: string;
  readonly terms?: SparseVector;
}

let served: ServedSheaf;
let client: SheafClient;
beforeAll(async () => {
  served = await ServedSheaf.start();
  client = new SheafClient({ url: served.url, key: ROOT_KEY });
});
afterAll(() => served.dispose());

const COUNT = 60;
const terms: SparseVector = { indices: [3, 7], values: [1, 2] };
const point = (n: number): { id: string; embedding: Float32Array; metadata: Point } => ({
  id: `p${n}`,
  embedding: Float32Array.of(n, 0.5),
  metadata: { n, parity: n % 2 === 0 ? "even" : "odd", ...(n === 0 ? { terms } : {}) },
});
const points = Array.from({ length: COUNT }, (_, n) => point(n));

describe("records of @sheaf/client", () => {
  it("go there as base64 in batches, with progress, and come back as they are", async () => {
    const collection = await client.createCollection<Point>({ name: "batches" });
    const progress: unknown[] = [];
    await collection.add({ records: points, batchSize: 25, onProgress: (step) => progress.push(step) });
    expect(progress).toEqual([25, 50, 60].map((written) => ({ written, total: COUNT })));
    expect(await collection.count()).toBe(COUNT);
    const all = await collection.get({ select: ["#embedding", "#metadata", "terms"] });
    expectTypeOf(all[0]).toEqualTypeOf<
      | {
          readonly id: string;
          readonly embedding: readonly number[] | null;
          readonly metadata: Point | null;
        }
      | undefined
    >();
    expect(all).toEqual(
      points.map(({ id, embedding, metadata }) => ({
        id,
        embedding: [...embedding],
        metadata: {
          ...metadata,
          ...(metadata.terms === undefined ? {} : { terms: { "#type": "sparse_vector", ...terms } }),
        },
      })),
    );
  });

  it("go there in as few requests as the server takes", async () => {
    const collection = await client.createCollection({ name: "many" });
    const records = Array.from({ length: 6_000 }, (_, n) => ({ id: `${n}`, embedding: [n, 1] }));
    const written: number[] = [];
    await collection.add({ records, onProgress: (step) => written.push(step.written) });
    expect(written).toEqual([5_461, 6_000]);
    expect(await collection.count()).toBe(6_000);
  });

  it("have no vectors unless they are asked for", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    const [first] = await collection.get({ ids: ["p0"] });
    expectTypeOf(first).toEqualTypeOf<
      | {
          readonly id: string;
          readonly document: string | null;
          readonly metadata: { readonly n: number; readonly parity: string; readonly note?: string } | null;
        }
      | undefined
    >();
    expect(first).toEqual({ id: "p0", document: null, metadata: { n: 0, parity: "even" } });
    const [found] = await collection.search({ rank: knn({ query: [0, 0.5] }), limit: 1 });
    expect(found).toEqual({ id: "p0", document: null, metadata: { n: 0, parity: "even" }, score: 0 });
    const [[near] = []] = await collection.query({ embeddings: [[0, 0.5]], limit: 1 });
    expect(near).toEqual({ id: "p0", document: null, metadata: { n: 0, parity: "even" }, distance: 0 });
    const [bare] = await collection.search({ rank: knn({ query: [0, 0.5] }), limit: 1, select: [] });
    expectTypeOf(bare).toEqualTypeOf<{ readonly id: string } | undefined>();
    expect(bare).toEqual({ id: "p0" });
  });

  it("are changed key by key, and removed by filter", async () => {
    const collection = await client.createCollection<Point>({ name: "changes" });
    await collection.add({ records: points });
    await collection.update({
      records: [{ id: "p1", metadata: { note: "new", parity: null }, uri: "file:///a" }],
    });
    const [changed] = await collection.get({ ids: ["p1"], select: ["#metadata", "#uri"] });
    expect(changed).toEqual({ id: "p1", uri: "file:///a", metadata: { n: 1, note: "new" } });
    expect(await collection.delete({ where: K("parity").eq("odd"), limit: 3 })).toBe(3);
    expect(await collection.delete({ where: { parity: "odd" } })).toBe(COUNT / 2 - 1 - 3);
    expect(await collection.delete({ ids: ["p1", "nobody"] })).toBe(1);
    expect(await collection.count()).toBe(COUNT / 2);
    expect(await collection.get({ where: K("n").lt(3), select: ["n"] })).toEqual([
      { id: "p0", metadata: { n: 0 } },
      { id: "p2", metadata: { n: 2 } },
    ]);
  });

  it("are counted, by filter and by value", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    expect(await collection.count({ where: { parity: "odd" } })).toBe(COUNT / 2);
    expect(await collection.count({ ids: ["p1", "nobody"], where: K("n").lt(9) })).toBe(1);
    const facets = await collection.facets({
      keys: ["parity", K("n")],
      where: { n: { $lt: 4 } },
      histogram: 2,
      limit: 2,
    });
    expectTypeOf(facets.parity.values[0]).toEqualTypeOf<
      { readonly value: string; readonly count: number } | undefined
    >();
    expect(facets.parity.values).toEqual([
      { value: "even", count: 2 },
      { value: "odd", count: 2 },
    ]);
    expect(facets.n).toMatchObject({
      other: 2,
      missing: 0,
      min: 0,
      max: 3,
      histogram: [{ count: 2 }, { count: 2 }],
    });
  });

  it("say where their documents match", async () => {
    const collection = await client.createCollection({ name: "marked" });
    await collection.add({
      records: [
        { id: "a", embedding: [1], document: "the tide and the ebb" },
        { id: "b", embedding: [2] },
      ],
    });
    const where = K.DOCUMENT.contains("tide");
    const highlights = [{ start: 4, end: 8, by: ["$contains"] }];
    const [found] = await collection.search({ where, select: [], highlight: { snippet: 12 } });
    expectTypeOf(found).toExtend<
      { readonly highlights: readonly Highlight[] | null; readonly snippet: Snippet | null } | undefined
    >();
    const snippet = { text: "the tide and", start: 0, highlights };
    expect(found).toEqual({ id: "a", highlights, snippet });
    expect(await collection.get({ select: [], highlight: true })).toEqual([
      { id: "a", highlights: [] },
      { id: "b", highlights: null },
    ]);
    const [marked, plain] = await collection.searchAll({
      searches: [
        { where, select: [], highlight: true },
        { where, select: [] },
      ],
    });
    expectTypeOf(plain[0]).toEqualTypeOf<{ readonly id: string } | undefined>();
    expect([marked[0]?.highlights, plain[0]]).toEqual([highlights, { id: "a" }]);
  });

  it("are chosen so that they differ", async () => {
    const collection = await client.createCollection<Point>({ name: "diverse" });
    const at = (id: string, ...embedding: number[]): { id: string; embedding: number[] } => ({
      id,
      embedding,
    });
    const records = [at("a", 1, 0), at("b", 1, 0.01), at("c", 0, 1.1)];
    await collection.add({ records });
    const search = { rank: knn({ query: [1, 0] }), select: [] } as const;
    expect(await collection.search({ ...search, limit: 2 })).toEqual([{ id: "a" }, { id: "b" }]);
    const mmr = { lambda: 0.3, limit: 2 };
    expect(await collection.search({ ...search, mmr })).toEqual([{ id: "a" }, { id: "c" }]);
    const built = new Search({ rank: knn({ query: [1, 0] }) }).mmr(mmr);
    expect(await collection.search(built)).toEqual([{ id: "a" }, { id: "c" }]);
    expect(built.toPayload().mmr).toEqual(mmr);
    const misspelt = { ...mmr, lamda: 1 };
    await expect(collection.search({ ...search, mmr: misspelt })).rejects.toThrow(/lamda/);
  });

  it("say why they rank where they do, and why others are missing", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    const rank = knn({ query: [0, 0.5], limit: 2 }).add(fieldValue({ key: "n" }));
    const params = { where: { parity: "even" }, rank, limit: 1, select: ["#score"] } as const;
    const found = await collection.explainSearch({ ...params, ids: ["p0", "p1", "p2", "p4", "p99"] });
    expectTypeOf(found.rows[0]?.score).toEqualTypeOf<number | undefined>();
    const [row] = found.rows;
    expect(row).toMatchObject({ id: "p0", score: 0, trace: { op: "$sum", value: 0 } });
    expect(found.plan).toMatchObject({ records: COUNT, rows: COUNT / 2, ranked: 2 });
    expect(found.whyNot).toEqual([
      { id: "p1", reason: "filtered", path: "where.parity" },
      { id: "p2", reason: "below_page", rank: 1 },
      { id: "p4", reason: "outside_leaf", path: "rank.$sum[0].$knn" },
      { id: "p99", reason: "absent" },
    ]);
    const search = new Search({ where: { parity: "even" }, rank, limit: 1, select: [K.SCORE] });
    const named = search.explain({ ids: ["p1"] });
    expect(await collection.explainSearch(named)).toMatchObject({
      rows: found.rows,
      whyNot: [{ id: "p1", reason: "filtered" }],
    });
    expect(await collection.search(named)).toEqual([{ id: "p0", score: 0 }]);
    expect(named.toPayload().explain).toEqual({ ids: ["p1"] });
    expect(search.toPayload()).not.toHaveProperty("explain");
  });

  it("are searched after a check", async () => {
    const collection = await client.getCollection<Point>({ name: "diverse" });
    const query = [1, 0];
    const checked = await collection.check({
      searches: [{ rank: knn({ query, limit: 3 }), limit: 5 }, { rank: knn({ query: [1] }) }],
    });
    expect(checked).toMatchObject({
      problems: [{ path: "searches[1].rank.$knn.query", code: "invalid_argument" }],
      warnings: [{ path: "searches[0].rank.$knn.limit", code: "leaf_limit" }],
      plans: [
        { leaves: [{ key: "#embedding", limit: 3, model: null }], page: { offset: 0, limit: 5 } },
        null,
      ],
    });
  });

  it("are ordered by their fields", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    const orderBy = [{ parity: "desc" }, { n: "desc" }] as const;
    const found = await collection.get({ orderBy, limit: 2, select: [] });
    expect(found).toEqual([{ id: "p59" }, { id: "p57" }]);
    expect(await collection.search({ orderBy, limit: 2, select: [] })).toEqual(found);
    for await (const page of collection.records({ orderBy, pageSize: 2, select: [] }).pages()) {
      expect(page).toEqual(found);
      break;
    }
  });

  it("are gone through page by page", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    const ids: string[] = [];
    for await (const { id } of collection.records({ pageSize: 7, select: [], where: K("parity").eq("odd") }))
      ids.push(id);
    expect(ids).toEqual(points.filter(({ metadata }) => metadata.parity === "odd").map(({ id }) => id));
    const sizes: number[] = [];
    for await (const page of collection.records({ pageSize: 20 }).pages()) sizes.push(page.length);
    expect(sizes).toEqual([20, 20, 20]);
  });

  it("are committed only if they are as they were read", async () => {
    const collection = await client.createCollection<Point>({ name: "transactions" });
    await collection.add({ records: points.slice(0, 2) });
    const { records, readToken } = await collection.conditionalGet({ ids: ["p0"], select: ["n"] });
    expect(records).toEqual([{ id: "p0", metadata: { n: 0 } }]);
    const commit = (): Promise<unknown> =>
      collection.conditionalCommit({
        readToken,
        readIds: ["p0"],
        operations: [
          { operation: "update", records: [{ id: "p0", metadata: { n: 100 } }] },
          { operation: "add", records: [point(5)] },
          { operation: "delete", ids: ["p1"] },
        ],
      });
    expect(await commit()).toEqual({ firstInsertedRecordOffset: expect.anything(), recordCount: 3 });
    await expect(commit()).rejects.toBeInstanceOf(ConflictError);
    expect((await collection.get({ select: ["n"] })).map(({ metadata }) => metadata?.n)).toEqual([100, 5]);
  });
});

describe("searches of @sheaf/client", () => {
  it("find as many as they are asked for", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    const query = [0, 0.5];
    expect(await collection.search({ rank: knn({ query, limit: 50 }) })).toHaveLength(50);
    expect(await collection.search({ rank: knn({ query }), limit: 50 })).toHaveLength(50);
    expect(await collection.search({ rank: knn({ query }).add(1), limit: 20, offset: 30 })).toHaveLength(20);
    expect(await collection.search({ rank: Knn({ query }) })).toHaveLength(COUNT);
    expect(await collection.search({ rank: knn({ query }) })).toHaveLength(16);
  });

  it("answer with what they select, several at once too", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    const rank = knn({ query: [0, 0.5] });
    const [best, groups, built] = await collection.searchAll({
      searches: [
        { rank, limit: 1, select: ["#score", "n"] },
        {
          rank,
          limit: 2,
          groupBy: new GroupBy([K("parity")], new MinK([K.SCORE], 1)),
          select: [K("parity")],
        },
        new Search().where(K("n").gte(9)).rank(rank).limit(1).select(K.SCORE, "note"),
      ],
    });
    expectTypeOf(best[0]).toEqualTypeOf<
      | { readonly id: string; readonly score: number; readonly metadata: { readonly n: number } | null }
      | undefined
    >();
    expectTypeOf(built[0]).toEqualTypeOf<
      | { readonly id: string; readonly score: number; readonly metadata: { readonly note?: string } | null }
      | undefined
    >();
    expect(best).toEqual([{ id: "p0", score: 0, metadata: { n: 0 } }]);
    expect(groups).toEqual([
      { id: "p0", metadata: { parity: "even" } },
      { id: "p1", metadata: { parity: "odd" } },
    ]);
    expect(built).toEqual([{ id: "p9", score: 81, metadata: null }]);
    expect(await collection.search(new Search().rank(rank).limit(1).select("n"))).toEqual([
      { id: "p0", metadata: { n: 0 } },
    ]);
    expect(await collection.search(new Search().rank(rank).limit(1).selectAll())).toEqual([
      {
        id: "p0",
        document: null,
        embedding: [0, 0.5],
        metadata: { n: 0, parity: "even" },
        score: 0,
      },
    ]);
  });

  it("rank by numbers and times of the metadata", async () => {
    const collection = await client.getCollection<Point>({ name: "batches" });
    const now = new Date(59_000);
    const [largest, newest] = await collection.searchAll({
      searches: [
        { rank: fieldValue({ key: K("n") }).negate(), limit: 2, select: ["#score"] },
        { rank: age({ key: "n", halfLifeSeconds: 10, now }), limit: 2, select: ["#score"] },
      ],
    });
    expect(largest).toEqual([
      { id: "p59", score: -59 },
      { id: "p58", score: -58 },
    ]);
    expect(newest.map(({ id, score }) => [id, score.toFixed(3)])).toEqual([
      ["p59", "0.000"],
      ["p58", "0.100"],
    ]);
    const near = knn({ query: [0, 0.5], limit: 2 }).add(fieldValue({ key: "absent", default: 5 }));
    expect(await collection.search({ rank: near, select: ["#score"] })).toEqual([
      { id: "p0", score: 5 },
      { id: "p1", score: 6 },
    ]);
  });

  it("take texts, which rrf and Rrf fuse alike", async () => {
    const notes = await client.createCollection({ name: "texts", schema: hybridSchema() });
    await notes.upsert({
      records: [
        { id: "tide", document: "Ships wait for the tide.", metadata: { year: 1998 } },
        { id: "bread", document: "Sourdough bread rises for a whole night.", metadata: { year: 2019 } },
      ],
    });
    const [dense, sparse] = [{ query: "boats in port" }, { query: "boats in port", key: "bm25" }];
    const fused = await notes.search({ rank: rrf({ ranks: [dense, sparse] }) });
    const shared = { returnRank: true, limit: 100, default: 100 };
    const same = Rrf({ ranks: [Knn({ ...dense, ...shared }), Knn({ ...sparse, ...shared })] });
    expect(await notes.search({ rank: same })).toEqual(fused);
    expect(fused.map(({ id, metadata }) => [id, metadata])).toEqual([
      ["tide", { year: 1998 }],
      ["bread", { year: 2019 }],
    ]);
    const [withTerms] = await notes.get({ ids: ["tide"], select: ["bm25"] });
    // How often each term occurs: the server scores it by the statistics of the collection.
    expect(withTerms?.metadata?.["bm25"]).toMatchObject({ "#type": "sparse_vector", values: [1, 1, 1] });
    const { embedding_function } =
      notes.info.schema.keys?.["bm25"]?.sparse_vector?.sparse_vector_index?.config ?? {};
    expect(embedding_function).toMatchObject({ name: "sheaf", config: { statistics: "collection" } });
  });

  it("are refused in a collection that is gone", async () => {
    const collection = await client.createCollection({ name: "short-lived" });
    await client.deleteCollection({ name: "short-lived" });
    const refused = await collection.search({ limit: 1 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NotFoundError);
    expect(refused).toMatchObject({ status: 404, errorName: "NotFoundError", requestId: expect.any(String) });
  });
});

/** Faults of the existing single-node server that Sheaf does not have; each test is named after one of them. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { descendants, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { refusal, refused } from "./testing/refusal.ts";
import { ask, DATABASE, expectOk, newCollection } from "./testing/wire.ts";

interface Rows {
  readonly ids: readonly string[];
}
interface SearchRows {
  readonly ids: readonly (readonly string[])[];
  readonly scores: readonly (readonly number[] | null)[];
}

let served: ServedSheaf;
let made = 0;

beforeAll(async () => {
  served = await ServedSheaf.start();
});

afterAll(async () => {
  await served.dispose();
});

const collection = (more: object = {}) => newCollection(served, { name: `fault-${made++}`, ...more });
const add = (path: string, json: object) => expectOk(served, { path: `${path}/add`, json });
const get = (path: string, json: object) => expectOk<Rows>(served, { path: `${path}/get`, json });
const search = (path: string, one: object) =>
  expectOk<SearchRows>(served, { path: `${path}/search`, json: { searches: [one] } });

/** Bodies are text, because 2.0 would leave this process as 2. */
async function addNumbers(): Promise<string> {
  const path = await collection();
  const body = `{"ids":["1","2","3.0","-5","2.0"],"embeddings":[[1],[1],[1],[1],[1]],
    "metadatas":[{"i":1},{"i":2},{"i":3.0},{"i":-5},{"i":2.0}]}`;
  await expectOk(served, { path: `${path}/add`, body });
  return path;
}

describe("reading", () => {
  it("a query for unknown ids only is a 500", async () => {
    const path = await collection();
    await add(path, { ids: ["a"], embeddings: [[1, 0]] });
    const json = {
      ids: ["nobody"],
      query_embeddings: [
        [1, 0],
        [0, 1],
      ],
    };
    expect(await expectOk<Rows>(served, { path: `${path}/query`, json })).toMatchObject({ ids: [[], []] });
  });

  it.each<[string, string, string[]]>([
    ["$gte 1.5", '{"i":{"$gte":1.5}}', ["2", "3.0", "2.0"]],
    ["$lt 2.5", '{"i":{"$lt":2.5}}', ["1", "2", "-5", "2.0"]],
    ["$gt -5.5", '{"i":{"$gt":-5.5}}', ["1", "2", "3.0", "-5", "2.0"]],
    ["$lte -4.5", '{"i":{"$lte":-4.5}}', ["-5"]],
    ["$eq 2.5", '{"i":2.5}', []],
  ])("a float is cut off before it meets integers: %s", async (_, where, ids) => {
    const path = await addNumbers();
    const found = await expectOk<Rows>(served, { path: `${path}/get`, body: `{"where":${where}}` });
    expect(found.ids).toEqual(ids);
  });

  it.each<[string, string, string[]]>([
    ["$in [1, 2]", '{"i":{"$in":[1,2]}}', ["1", "2", "2.0"]],
    ["$in [2.0, 3]", '{"i":{"$in":[2.0,3]}}', ["2", "3.0", "2.0"]],
    ["$nin [1, 2]", '{"i":{"$nin":[1,2]}}', ["3.0", "-5"]],
  ])("$in does not find what $eq finds: %s", async (_, where, ids) => {
    const path = await addNumbers();
    const found = await expectOk<Rows>(served, { path: `${path}/get`, body: `{"where":${where}}` });
    expect(found.ids).toEqual(ids);
  });

  it("#id in where finds nothing, and says nothing", async () => {
    const path = await collection();
    await add(path, { ids: ["a", "b", "c"], embeddings: [[1], [2], [3]] });
    const where = { "#id": { $in: ["c", "a"] } };
    expect((await get(path, { where })).ids).toEqual(["a", "c"]);
    expect((await get(path, { where: { "#id": { $ne: "a" } } })).ids).toEqual(["b", "c"]);
    expect((await search(path, { filter: where })).ids).toEqual([["a", "c"]]);
  });

  it("patterns of fewer than three letters find too little", async () => {
    const path = await collection();
    await add(path, {
      ids: ["a", "b", "c"],
      embeddings: [[1], [1], [1]],
      documents: ["xyz", "qx", "☃ snow"],
    });
    const by = async (where_document: object) => (await get(path, { where_document })).ids;
    expect(await by({ $contains: "x" })).toEqual(["a", "b"]);
    expect(await by({ $contains: "qx" })).toEqual(["b"]);
    expect(await by({ $contains: "☃" })).toEqual(["c"]);
    expect(await by({ $not_contains: "x" })).toEqual(["c"]);
    expect(await by({ $regex: "x." })).toEqual(["a"]);
    expect(await by({ $regex: "^.{2}$" })).toEqual(["b"]);
  });

  it("a search does not check the dimension of its vector", async () => {
    const path = await collection();
    await add(path, { ids: ["a"], embeddings: [[1, 0]] });
    const json = { searches: [{ rank: { $knn: { query: [1, 0, 0] } } }] };
    expect(await refusal(served, { path: `${path}/search`, json })).toEqual(
      refused(400, /dimension of 2, got 3/u),
    );
  });

  it("a search ignores its where", async () => {
    const path = await collection();
    await add(path, { ids: ["a", "b"], embeddings: [[1], [2]], metadatas: [{ n: 1 }, { n: 2 }] });
    expect((await search(path, { where: { n: 2 } })).ids).toEqual([["b"]]);
  });

  it("a filter changes which neighbours are found", async () => {
    const path = await collection();
    const dim = 16;
    const vectors = Array.from({ length: 3_000 }, (_, row) =>
      Array.from({ length: dim }, (_, j) => Math.fround(Math.sin(row * 12.9898 + j * 78.233))),
    );
    await add(path, {
      ids: vectors.map((_, row) => String(row)),
      embeddings: vectors,
      metadatas: vectors.map((_, row) => ({ group: row % 500 })),
    });
    const query = Array.from({ length: dim }, (_, j) => Math.cos(j));
    for (const group of [0, 7, 499]) {
      const nearest = vectors
        .map((vector, row) => ({ row, distance: squared(vector, query) }))
        .filter(({ row }) => row % 500 === group)
        .toSorted((left, right) => left.distance - right.distance);
      const { ids } = await expectOk<SearchRows>(served, {
        path: `${path}/query`,
        json: { query_embeddings: [query], n_results: 5, where: { group } },
      });
      expect(ids).toEqual([nearest.slice(0, 5).map(({ row }) => String(row))]);
    }
  });

  it("what a sparse search finds changes when records are indexed", async () => {
    const sparse = { sparse_vector: { sparse_vector_index: { enabled: true, config: {} } } };
    const path = await collection({ schema: { defaults: {}, keys: { sp: sparse } } });
    const vector = (index: number) => ({ "#type": "sparse_vector", indices: [index], values: [1] });
    await add(path, {
      ids: ["overlap", "apart"],
      embeddings: [[1], [2]],
      metadatas: [{ sp: vector(1) }, { sp: vector(2) }],
    });
    const one = {
      rank: { $knn: { key: "sp", query: { indices: [1], values: [0.5] } } },
      select: { keys: ["#score"] },
    };
    const fresh = await search(path, one);
    expect(fresh).toMatchObject({ ids: [["overlap"]], scores: [[0.5]] });
    await indexed(path);
    expect(await search(path, one)).toEqual(fresh);
  });
});

describe("collections", () => {
  it("array-valued collection metadata drops the connection", async () => {
    const metadata = { tags: ["a", "b"], counts: [1, 2], flags: [true, false], shares: [0.5, 1.25] };
    const path = await collection({ metadata });
    const { name, metadata: kept } = await expectOk<{ name: string; metadata: unknown }>(served, {
      path: path.replace("/collections/", "/collections/by-id/"),
    });
    expect(kept).toEqual(metadata);
    expect(await expectOk(served, { path: `${DATABASE}/collections/${name}` })).toMatchObject({ metadata });
  });

  it("a lookup by resource name drops the connection", async () => {
    const { id, name } = await expectOk<{ id: string; name: string }>(served, {
      path: `${DATABASE}/collections`,
      json: { name: `fault-${made++}` },
    });
    const path = "/api/v2/collections/default_tenant:default_database";
    expect(await expectOk(served, { path: `${path}:${name}` })).toMatchObject({ id });
    expect(await refusal(served, { path: `${path}:nothing` })).toEqual(refused(404, /nothing/u));
  });

  it("a rename onto an existing name is a 500 with SQL in it", async () => {
    await newCollection(served, { name: "taken" });
    const path = await collection();
    const question = { method: "PUT", path, json: { new_name: "taken" } };
    expect(await refusal(served, question)).toEqual(refused(409, /^Collection \[taken\] already exists$/u));
  });

  it("indexing_status is a 500", async () => {
    const path = await collection();
    expect(await expectOk(served, { path: `${path}/indexing_status` })).toEqual({
      op_indexing_progress: 1,
      num_unindexed_ops: 0,
      num_indexed_ops: 0,
      total_ops: 0,
    });
    await add(path, { ids: ["a", "b"], embeddings: [[1], [2]] });
    await indexed(path);
    expect(await expectOk(served, { path: `${path}/indexing_status` })).toEqual({
      op_indexing_progress: 1,
      num_unindexed_ops: 0,
      num_indexed_ops: 2,
      total_ops: 2,
    });
  });

  it("a database can be made in a tenant that does not exist", async () => {
    const question = { path: "/api/v2/tenants/nobody/databases", json: { name: "books" } };
    expect(await refusal(served, question)).toEqual(refused(404, /nobody/u));
  });
});

describe("writing", () => {
  it("null in the metadata of an add is refused without saying where", async () => {
    const path = await collection();
    const json = { ids: ["a", "b"], embeddings: [[1], [2]], metadatas: [{ k: 1 }, { k: 2, gone: null }] };
    expect(await refusal(served, { path: `${path}/add`, json })).toEqual(
      refused(422, /^metadatas\[1\]\.gone: .*null/u),
    );
  });

  it("delete counts ids that never existed", async () => {
    const path = await collection();
    await add(path, { ids: ["a"], embeddings: [[1]] });
    const json = { ids: ["a", "nobody", "a"] };
    expect(await expectOk(served, { path: `${path}/delete`, json })).toEqual({ deleted: 1 });
  });

  it("whole floats come back as integers", async () => {
    const path = await collection();
    await expectOk(served, {
      path: `${path}/add`,
      body: '{"ids":["a"],"embeddings":[[1]],"metadatas":[{"f":3.0,"i":9223372036854775807,"l":[1.0,2.0]}]}',
    });
    const { text } = await ask(served, { path: `${path}/get`, json: {} });
    expect(text).toMatch(/"f":3\.0\b/u);
    expect(text).toMatch(/"i":9223372036854775807\b/u);
    expect(text).toMatch(/"l":\[1\.0,2\.0\]/u);
  });
});

describe("running", () => {
  it("CloudClient's key from the environment arrives as the word None", async () => {
    const { status } = await ask(served, {
      path: `${DATABASE}/collections`,
      headers: { "x-chroma-token": "None" },
    });
    expect(status).toBe(401);
  });

  it("SIGTERM does not end it", async () => {
    const own = await ServedSheaf.start();
    await newCollection(own, { name: "open" });
    expect(await own.stop()).toBe(0);
    await own.dispose();
  });

  it("disk space does not come back, and what was deleted stays readable in the files", async () => {
    // Some seconds, where the default is days: small collections share files, and others are there.
    const own = await ServedSheaf.start({ args: ["--purge-after", "0.0001"] });
    const before = await bytesIn(own.data);
    const path = await newCollection(own, { name: "secret" });
    const rows = Array.from({ length: 2_000 }, (_, row) => row);
    await expectOk(own, {
      path: `${path}/add`,
      json: {
        ids: rows.map(String),
        embeddings: rows.map((row) => Array.from({ length: 64 }, (_, j) => row + j)),
        documents: rows.map((row) => `the secret of record ${row} is long enough to be found`),
      },
    });
    expect(await bytesIn(own.data)).toBeGreaterThan(before + 500_000);
    await expectOk(own, { method: "DELETE", path: `${DATABASE}/collections/secret` });
    for (let attempt = 0; (await bytesIn(own.data)) > before + 100_000; attempt++) {
      if (attempt > 1_000) throw new Error("the folder of the deleted collection never went");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await filesWith(own.data, "the secret of record")).toEqual([]);
    await own.dispose();
  });

  it("memory grows with data that is long gone", async () => {
    const own = await ServedSheaf.start();
    const rows = Array.from({ length: 1_500 }, (_, row) => row);
    const base64 = Buffer.from(new Float32Array(1_024).fill(0.5).buffer).toString("base64");
    const json = { ids: rows.map(String), embeddings: rows.map(() => base64) };
    const query = {
      query_embeddings: [Array.from({ length: 1_024 }, () => 0.5)],
      n_results: 3,
    };
    const sizes: number[] = [];
    for (let round = 0; round < 24; round++) {
      const path = await newCollection(own, { name: "round" });
      await expectOk(own, { path: `${path}/add`, json });
      await expectOk(own, { path: `${path}/get`, json: { limit: 1 } });
      await expectOk(own, { path: `${path}/query`, json: query });
      await expectOk(own, { method: "DELETE", path: `${DATABASE}/collections/round` });
      sizes.push(await residentBytes(own.pid));
    }
    // Each round brings 6 MB of vectors: a server that kept those of the last 16 would grow by twice this bound.
    const [early, late] = [Math.max(...sizes.slice(4, 8)), Math.min(...sizes.slice(-4))];
    expect(late - early).toBeLessThan(49e6);
    await own.dispose();
  });
});

/** Waits until every write has been indexed. */
async function indexed(path: string): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const { num_unindexed_ops: left } = await expectOk<{ num_unindexed_ops: number }>(served, {
      path: `${path}/indexing_status`,
    });
    if (left === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the writes were never indexed");
}

function squared(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, j) => sum + (value - (right[j] ?? 0)) ** 2, 0);
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** What the files take on the disk; one that goes away meanwhile takes nothing. */
async function bytesIn(folder: string): Promise<number> {
  const files = await filesIn(folder).catch(() => []);
  const blocks = files.map((file) =>
    stat(file).then(
      ({ blocks }) => blocks * 512,
      () => 0,
    ),
  );
  return (await Promise.all(blocks)).reduce((sum, bytes) => sum + bytes, 0);
}

async function filesWith(folder: string, text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const file of await filesIn(folder)) {
    // What a purge is about to remove may be gone by now.
    const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return Buffer.alloc(0);
    });
    if (bytes.includes(text)) found.push(file);
  }
  return found;
}

/** Resident memory of a process and all below it. */
async function residentBytes(pid: number): Promise<number> {
  const pids = [pid, ...(await descendants(pid)).map((child) => child.pid)];
  const pages = await Promise.all(
    pids.map((id) =>
      readFile(`/proc/${id}/statm`, "utf8").then(
        (text) => Number(text.split(" ")[1]),
        () => 0,
      ),
    ),
  );
  return pages.reduce((sum, count) => sum + count, 0) * 4_096;
}

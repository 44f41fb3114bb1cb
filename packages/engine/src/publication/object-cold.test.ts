/** Servers that have nothing of a collection answer calls on it while its records and its index are still being fetched. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import {
  type CollectionRef,
  type JsonObject,
  SheafError,
  type WriteRecord,
  parseSearchRequest,
} from "@sheaf/protocol";
import { gatewayOf, nodeOf } from "../cluster/testing/test-nodes.ts";
import type { Engine } from "../engine.ts";
import { createHostedEngine } from "../host/create-hosted-engine.ts";
import { partitionName } from "../storage/folder/partition-name.ts";
import { ObjectServer } from "../storage/objects/testing/object-server.ts";
import { PostgresServer } from "../storage/postgres/testing/postgres-server.ts";
import { dividing } from "../testing/dividing.ts";
import { INCLUDE, idsOf, listsOf, makeCollection, readAll, write } from "../testing/engine-fixtures.ts";
import { end } from "../testing/host-ends.ts";
import { INDEX, row, vector } from "../testing/indexed-folder.ts";
import { TAIL_BYTES } from "../storage/files/segment-files.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { ObjectCluster, flipped, indexOf, segmentsIn } from "./testing/object-cluster.ts";

const ROWS = 300;
const PARTITIONS = 2;
/** From here on records are not in the first MiB of the file. */
const LATER = 100;
/** So that files of segments do not fit what is read as they are opened. */
const DIMENSION = 256;
const PATIENCE = { timeout: 200_000 };
const ALL = { ids: null, where: null };
const PAGE = { limit: null, offset: 0, orderBy: undefined, highlight: undefined };

let database: PostgresServer;
let server: ObjectServer;
beforeAll(async () => {
  [database, server] = await Promise.all([PostgresServer.start(), ObjectServer.start()]);
});
afterAll(async () => {
  await Promise.all([database?.close(), server?.close()]);
});
beforeEach(() => {
  server.pause = () => null;
  server.fault = () => null;
});

/** The distances are those of `vector`. */
function wide(i: number): Float32Array {
  const embedding = new Float32Array(DIMENSION);
  embedding.set(vector(i));
  return embedding;
}

function longRow(i: number): WriteRecord {
  return { ...row(i), embedding: wide(i), document: `${i} `.repeat(4_500) };
}

function cluster(): ObjectCluster {
  const objects = { ...server.settings(), coldFromBytes: 1, limits: { requestMs: 300_000 } };
  return new ObjectCluster(database.settings(), objects, { checkpointAfterBytes: 3_900_000 });
}

/** A collection with most of its records in a file, and an index of fewer that is published. */
async function filled(
  shared: ObjectCluster,
  engine: Engine,
  published: (ref: CollectionRef) => readonly CollectionRef[] = (ref) => [ref],
): Promise<CollectionRef> {
  const ref = await makeCollection(engine);
  for (let from = 0; from < ROWS; from += 50)
    await write(engine, ref, "add", ...Array.from({ length: 50 }, (_, i) => longRow(from + i)));
  // Of neither the index that is published nor the file.
  await engine.delete(ref, { ids: ["r3", "r7", "r150"], where: null, limit: null });
  // Partitions follow once they are read.
  await engine.count(ref, ALL);
  for (const each of published(ref))
    await expect
      .poll(() => shared.covers(each), PATIENCE)
      .toBeGreaterThanOrEqual(ROWS - PARTITIONS * INDEX.sizes.sizes.mutableRows);
  await expect
    .poll(async () => {
      await write(engine, ref, "upsert", longRow(299));
      const [head] = await shared.rows("log_head", `collection = '${ref.id}'`);
      return Number(head!["checkpoint_bytes"]);
    }, PATIENCE)
    .toBeGreaterThan(3_500_000);
  return ref;
}

/** Holds up the first bytes of each file that are asked for from now on, and so all who read the whole file. */
function holdUp(): () => void {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  server.pause = (call, range) => {
    const [, end] = /^bytes=0-(\d+)$/.exec(range) ?? [];
    const isWhole = call.includes(".seg") ? Number(end) > TAIL_BYTES : end !== undefined;
    return isWhole ? held : null;
  };
  return () => {
    server.pause = () => null;
    release();
  };
}

async function found(engine: Engine, ref: CollectionRef, i: number): Promise<readonly (string | number)[]> {
  const include = { ...INCLUDE, documents: false, embeddings: false, metadatas: false, distances: true };
  const request = { ids: null, where: null, embeddings: [wide(i)], limit: 3, include };
  const [list = []] = await listsOf(engine, ref, engine.query(ref, request));
  return list.flatMap(({ id, score }) => [id, score!]);
}

async function documents(engine: Engine, ref: CollectionRef, from: number, to: number): Promise<unknown> {
  const where = {
    type: "and",
    children: [
      { type: "compare", key: "n", operator: "$gte", value: BigInt(from) },
      { type: "compare", key: "n", operator: "$lt", value: BigInt(to) },
    ],
  } as const;
  const request = { ...PAGE, ids: null, where, include: INCLUDE };
  const [list = []] = await listsOf(engine, ref, engine.get(ref, request as never));
  return list;
}

/** Where the records take long, callers are asked to try again. */
async function patiently<T>(
  call: () => Promise<T>,
  passes: (error: SheafError) => boolean = () => false,
): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SheafError) || (error.code !== "unavailable" && !passes(error))) throw error;
      await sleep(20);
    }
  }
}

const even = { type: "compare", key: "parity", operator: "$eq", value: "even" } as const;

/** Vectors that are far from those of the first records, whose distances are not known without them. */
function farQueries(): readonly number[] {
  const rows = Array.from({ length: ROWS }, (_, i) => i);
  const near = (query: number): number[] => {
    const [x, y] = vector(query) as unknown as [number, number];
    const distance = (i: number): number => (vector(i)[0]! - x) ** 2 + (vector(i)[1]! - y) ** 2;
    return rows.toSorted((a, b) => distance(a) - distance(b)).slice(0, 8);
  };
  return rows.filter((query) => near(query).every((i) => i >= LATER)).slice(0, 4);
}

/** Everything that is known without the first records. */
async function answers(engine: Engine, ref: CollectionRef): Promise<unknown> {
  return {
    count: await engine.count(ref, ALL),
    even: await engine.count(ref, { ids: null, where: even }),
    found: await Promise.all(farQueries().map((i) => found(engine, ref, i))),
    page: await documents(engine, ref, LATER, LATER + 20),
    last: await documents(engine, ref, ROWS - 40, ROWS + 40),
  };
}

interface Shared {
  readonly shared: ObjectCluster;
  /** It has the records. */
  readonly one: Engine;
  readonly ref: CollectionRef;
}

/** What others write is in its answers; then it has records of its own. */
async function answersMeanwhile({ shared, one, ref }: Shared): Promise<void> {
  const release = holdUp();
  const path = temporaryFolder();
  const two = await shared.open(path);
  expect(await answers(two, ref)).toEqual(await answers(one, ref));
  await one.delete(ref, { ids: ["r80", "r299", "r2"], where: null, limit: null });
  await write(one, ref, "update", { ...longRow(81), document: "changed" });
  await write(one, ref, "upsert", longRow(ROWS + 1), longRow(4));
  expect(await answers(two, ref)).toEqual(await answers(one, ref));
  await one.delete(ref, { ids: null, where: even, limit: 10 });
  expect(await answers(two, ref)).toEqual(await answers(one, ref));
  const writing = patiently(() => write(two, ref, "add", longRow(ROWS + 2)));
  expect(await answers(two, ref)).toEqual(await answers(one, ref));
  expect(segmentsIn(indexOf(path, ref))).toEqual([]);
  release();
  await writing;
  expect(segmentsIn(indexOf(path, ref))).not.toEqual([]);
  expect(await readAll(two, ref)).toEqual(await readAll(one, ref));
  expect(await answers(two, ref)).toEqual(await answers(one, ref));
  await write(one, ref, "add", longRow(ROWS + 3));
  expect(await readAll(two, ref)).toEqual(await readAll(one, ref));
  await shared.close(two);
  const gets = server.calls.filter((call) => call.startsWith("GET") && call.includes(".records")).length;
  expect(await readAll(await shared.open(path), ref)).toEqual(await readAll(one, ref));
  expect(server.calls.filter((call) => call.startsWith("GET") && call.includes(".records"))).toHaveLength(
    gets,
  );
  expect(shared.errors()).toEqual([]);
}

/** Where more is asked for than can be fetched it waits; it forks and deletes what it has then. */
async function waitsForAll({ shared, one, ref }: Shared): Promise<void> {
  const release = holdUp();
  const two = await shared.open();
  expect(await two.count(ref, ALL)).toBe(await one.count(ref, ALL));
  const [whole, fork, deleted] = [
    patiently(() => readAll(two, ref)),
    patiently(() => two.forkCollection(ref, "forked")),
    patiently(() => two.delete(ref, { ids: null, where: even, limit: 3 })),
  ];
  await sleep(50);
  release();
  expect((await whole).length).toBeGreaterThan(ROWS - 20);
  expect(await deleted).toBe(3);
  expect(await two.count({ ...ref, id: (await fork).id }, ALL)).toBeGreaterThan(ROWS - 20);
  expect(await idsOf(two, ref)).toEqual(await idsOf(one, ref));
  expect(shared.errors()).toEqual([]);
}

/** Killed before it had its records. */
async function beginsAgain({ shared, one, ref }: Shared): Promise<void> {
  const expected = await readAll(one, ref);
  const release = holdUp();
  const options = { dataFolder: temporaryFolder(), database: shared.database, index: INDEX };
  const host = await createHostedEngine({ ...options, objects: shared.objects });
  expect(await host.count(ref, ALL)).toBe(expected.length);
  end(host, "SIGKILL");
  await host.close();
  release();
  const again = await createHostedEngine({ ...options, objects: shared.objects });
  try {
    expect(await readAll(again, ref)).toEqual(expected);
  } finally {
    await again.close();
  }
}

/** The object store was away, or refused, as its index was opened: what is published is no worse for that. */
async function triesAgain({ shared, one, ref }: Shared): Promise<void> {
  const path = temporaryFolder();
  const two = await shared.open(path);
  for (const fault of ["busy", "denied"] as const) {
    server.fault = (call) => (call.startsWith("GET") && call.includes(".seg") ? fault : null);
    await expect(two.count(ref, ALL)).rejects.toMatchObject({ code: "unavailable" });
  }
  server.fault = () => null;
  expect(await two.count(ref, ALL)).toBe(await one.count(ref, ALL));
  const published = await shared.segments(ref);
  await patiently(() => write(two, ref, "upsert", longRow(4)));
  expect(segmentsIn(indexOf(path, ref))).toEqual(expect.arrayContaining([...published]));
  expect(shared.errors()).toEqual(["503 SlowDown", "403 AccessDenied: Nobody may"]);
  shared.log.length = 0;
  await shared.close(two);
}

/** Each file of the index is. */
async function doubtsIndex({ shared, one, ref }: Shared): Promise<void> {
  for (const name of await shared.segments(ref))
    await shared.replaceObject(name, flipped(await shared.object(name)));
  const two = await shared.open();
  for (const i of farQueries())
    expect(await patiently(() => found(two, ref, i))).toEqual(await found(one, ref, i));
  expect(await patiently(() => readAll(two, ref))).toEqual(await readAll(one, ref));
  expect(shared.errors().join("\n")).toContain(".seg");
  await shared.close(two);
}

/** Some are: it answers what it can without them. */
async function tellsOfRecords({ shared, one, ref }: Shared): Promise<{ name: string; bytes: Buffer }> {
  const [head] = await shared.rows("log_head", `collection = '${ref.id}'`);
  const name = String(head!["checkpoint"]);
  const bytes = await shared.object(name);
  const damaged = Buffer.from(bytes);
  damaged[2_500_000]! ^= 1;
  await shared.replaceObject(name, damaged);
  const release = holdUp();
  const two = await shared.open();
  expect(await two.count(ref, ALL)).toBe(await one.count(ref, ALL));
  expect(await documents(two, ref, 210, 220)).toEqual(await documents(one, ref, 210, 220));
  await expect(documents(two, ref, LATER, 199)).rejects.toMatchObject({ code: "collection_unavailable" });
  const writing = patiently(() => write(two, ref, "add", longRow(ROWS + 9)));
  release();
  await expect(writing).rejects.toMatchObject({ code: "collection_unavailable" });
  expect(shared.errors().join("\n")).toContain(name);
  return { name, bytes };
}

/** It is indexed otherwise from now on: all calls wait for that, not only the one that has seen it first. */
async function followsSchema({ shared, one, ref }: Shared): Promise<void> {
  const release = holdUp();
  const two = await shared.open();
  expect(await two.count(ref, ALL)).toBe(await one.count(ref, ALL));
  const { schema } = await one.getCollection(ref);
  const terms = { sparse_vector: { sparse_vector_index: { enabled: true, config: {} } } };
  await one.updateCollection(ref, {
    schema: { ...schema, keys: { ...(schema["keys"] as JsonObject), terms } },
  });
  const knn = { $knn: { key: "terms", query: { indices: [1], values: [1] }, limit: 3 } };
  const search = parseSearchRequest({ searches: [{ rank: knn }] });
  const searched = Promise.all(
    Array.from({ length: 3 }, () =>
      patiently(
        () => listsOf(two, ref, two.search(ref, search)),
        // Its catalog has not heard of the index yet.
        ({ message }) => message.includes("indexing is disabled"),
      ),
    ),
  );
  await sleep(1_000);
  release();
  expect(await searched).toEqual([[[]], [[]], [[]]]);
  await shared.close(two);
}

// One collection for all: to make it takes longest.
it("a server that has nothing of a collection answers as others do, and has records of its own in the end", async () => {
  const shared = cluster();
  const one = await shared.open();
  const parts = { shared, one, ref: await filled(shared, one) };
  await answersMeanwhile(parts);
  await waitsForAll(parts);
  await beginsAgain(parts);
  await triesAgain(parts);
  expect(shared.errors()).toEqual([]);
  await doubtsIndex(parts);
  const records = await tellsOfRecords(parts);
  await shared.replaceObject(records.name, records.bytes);
  await followsSchema(parts);
});

it("a node that has nothing of partitions answers as others do before it has read them, and follows what these write", async () => {
  const shared = cluster();
  const one = dividing(await shared.open(), PARTITIONS);
  const ref = await filled(shared, one, (whole) =>
    Array.from({ length: PARTITIONS }, (_, n) => ({ ...whole, id: partitionName(whole.id, n) })),
  );
  const path = temporaryFolder();
  const node = await nodeOf(await shared.open(path, "search"));
  onTestFinished(() => node.listener.close());
  // It has no other node to ask, and reads no more than partitions.
  const gateway = await gatewayOf([node], 1);
  onTestFinished(() => gateway.close());
  const release = holdUp();
  expect(await answers(gateway, ref)).toEqual(await answers(one, ref));
  await one.delete(ref, { ids: ["r80", "r299", "r2"], where: null, limit: null });
  await write(one, ref, "update", { ...longRow(81), document: "changed" });
  await write(one, ref, "upsert", longRow(ROWS + 1), longRow(4));
  expect(await answers(gateway, ref)).toEqual(await answers(one, ref));
  for (let n = 0; n < PARTITIONS; n++)
    expect(segmentsIn(indexOf(path, { ...ref, id: partitionName(ref.id, n) }))).toEqual([]);
  release();
  expect(await patiently(() => readAll(gateway, ref))).toEqual(await readAll(one, ref));
  expect(await answers(gateway, ref)).toEqual(await answers(one, ref));
  expect(shared.errors()).toEqual([]);
});

/**
 * How soon a server answers that has nothing of a collection: its records and its index are in an object store, the newest ones
 * in the log of a database. Each round is an engine on an empty folder, in this process, with and without answers before
 * the records are here, by a query as the records are, and by one that none of them is near, for which many more are candidates.
 * Searches are compared: they have to find the same. Database and object store are other processes on this machine, which take
 * their share of it; processor time is that of this process alone.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type CollectionRef, SheafError, parseCreateCollection } from "@sheaf/protocol";
import { createLocalEngine } from "../../packages/engine/src/create-local-engine.ts";
import type { Engine } from "../../packages/engine/src/engine.ts";
import type { ObjectStoreSettings } from "../../packages/engine/src/storage/objects/object-store.ts";
import { ObjectServer } from "../../packages/engine/src/storage/objects/testing/object-server.ts";
import { startVersitygw } from "../../packages/engine/src/storage/objects/testing/versitygw.ts";
import { PostgresServer } from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { PostgresDatabase } from "../../packages/engine/src/storage/postgres/postgres-database.ts";

const DIMENSION = 384;
const BATCH = 1_000;
const CLUSTERS = 200;
const AT = { tenant: "default_tenant", database: "default_database" };
const INCLUDE = {
  ...{ documents: true, embeddings: false, metadatas: true, distances: true, uris: false },
  keys: [],
};
const ROUNDS = 2;
/** Between two looks: minutes in a server. */
const QUIET_MS = 2_000;
/** Fewer get no checkpoint once nobody writes, and neither does less than this share of the one before. */
const MOST_LOG_BYTES = 8 * 1024 * 1024;
const MOST_LOG_SHARE = 1 / 16;
/** An index lacks so many rows at most once nobody writes: as many are not sealed. */
const UNSEALED = 4_096;

/** By this process, from the object store. */
const fetched = { requests: 0, bytes: 0 };
const { fetch } = globalThis;
globalThis.fetch = async (...request) => {
  const answer = await fetch(...request);
  fetched.requests += 1;
  fetched.bytes += Number(answer.headers.get("content-length") ?? 0);
  return answer;
};

/** @param rows Records of the collection. */
export async function measureColdServer(folder: string, rows: number): Promise<void> {
  const [postgres, store] = await Promise.all([PostgresServer.start(), startStore(folder)]);
  const database = { ...postgres.settings(), checkpointQuietMs: QUIET_MS };
  const { objects } = store;
  const sql = new PostgresDatabase(database);
  const open = async (coldFromBytes?: number): Promise<{ engine: Engine; remove: () => Promise<void> }> => {
    const dataFolder = await mkdtemp(join(folder, "cold-"));
    const more = coldFromBytes === undefined ? {} : { coldFromBytes };
    const publication = { afterMs: 5_000, retryMs: 1_000 };
    const engine = await createLocalEngine({
      ...{ dataFolder, database },
      objects: { ...objects, publication, ...more },
    });
    return { engine, remove: () => rm(dataFolder, { recursive: true, force: true }) };
  };
  try {
    const first = await open();
    const { ref, centres } = await load(first.engine, rows);
    const queries = { like: near(centres[0]!), unlike: UNLIKE };
    const numberOf = async (statement: string): Promise<number> => {
      const [row] = await sql.read(statement.replaceAll("schema.", `${database.schema}.`));
      return Number(row?.["number"] ?? 0);
    };
    const covers = `select (body::json->>'covers')::float8 as number from schema.manifest where collection = '${ref.id}'`;
    while ((await numberOf(covers)) < rows - UNSEALED) await sleep(1_000);
    // What is left of the log gets a checkpoint once nobody writes.
    const inLog = "select sum(length(body))::float8 as number from schema.log";
    const inFile = "select sum(checkpoint_bytes)::float8 as number from schema.log_head";
    while ((await numberOf(inLog)) >= Math.max(MOST_LOG_BYTES, (await numberOf(inFile)) * MOST_LOG_SHARE))
      await sleep(1_000);
    const expected = new Map<Float32Array, unknown>();
    for (const query of Object.values(queries)) expected.set(query, await search(first.engine, ref, query));
    await first.engine.close();
    await first.remove();
    const log = await numberOf(inLog);
    const kept = await numberOf(inFile);
    console.log(`${rows} records: ${mb(kept)} in a file of records, ${mb(log)} in the log`);
    console.log(
      "| | query | first search, s | processor time of that, s | fetched, MB | requests | first write, s |",
    );
    console.log("|---|---|---:|---:|---:|---:|---:|");
    for (let round = 0; round < ROUNDS; round++)
      for (const [name, like, coldFromBytes] of [
        ["records first", "like", Infinity],
        ["answers first", "like", undefined],
        ["answers first", "unlike", undefined],
      ] as const) {
        const query = queries[like];
        const [begun, before, fetchedBefore] = [performance.now(), process.cpuUsage(), { ...fetched }];
        const cold = await open(coldFromBytes);
        const found = await patiently(() => search(cold.engine, ref, query));
        const searched = performance.now() - begun;
        const { user, system } = process.cpuUsage(before);
        const bytes = mb(fetched.bytes - fetchedBefore.bytes);
        const requests = fetched.requests - fetchedBefore.requests;
        if (JSON.stringify(found) !== JSON.stringify(expected.get(query))) throw new Error("another answer");
        await patiently(() => cold.engine.delete(ref, { ids: ["none"], where: null, limit: null }));
        const written = performance.now() - begun;
        console.log(
          `| ${name} | ${like} | ${seconds(searched)} | ${seconds((user + system) / 1_000)} | ${bytes} | ${requests} | ${seconds(written)} |`,
        );
        await cold.engine.close();
        await cold.remove();
      }
  } finally {
    await sql.close();
    await Promise.all([postgres.close(), store.close()]);
  }
}

interface StartedStore {
  readonly objects: ObjectStoreSettings;
  close(): Promise<void>;
}

/** One that stands in this process would take its time. */
async function startStore(folder: string): Promise<StartedStore> {
  const program = process.env["SHEAF_TEST_VERSITYGW"];
  if (program === undefined) {
    const server = await ObjectServer.start();
    return { objects: server.settings(), close: () => server.close() };
  }
  const [place, bucket] = [resolve(folder, "objects"), "sheaf-bench"];
  await mkdir(place);
  const store = await startVersitygw(program, place, bucket);
  const { port, accessKeyId, secretAccessKey } = store;
  const objects = { endpoint: `http://127.0.0.1:${port}`, bucket, prefix: "", region: "us-east-1" };
  return { objects: { ...objects, accessKeyId, secretAccessKey }, close: () => store.close() };
}

async function load(
  engine: Engine,
  rows: number,
): Promise<{ readonly ref: CollectionRef; readonly centres: readonly Float32Array[] }> {
  const { id } = await engine.createCollection(parseCreateCollection({ name: "cold" }, AT));
  const ref = { ...AT, id };
  const centres = Array.from({ length: CLUSTERS }, () => vector());
  for (let from = 0; from < rows; from += BATCH) {
    const records = Array.from({ length: BATCH }, (_, i) => {
      const centre = centres[(from + i) % CLUSTERS]!;
      return {
        ...{ id: `r${from + i}`, document: `a text of some length, number ${from + i}`, uri: null },
        metadata: new Map([["n", BigInt(from + i)]]),
        embedding: near(centre),
      };
    });
    await patiently(() => engine.write(ref, { kind: "add", records }));
  }
  return { ref, centres };
}

/** None of the records is near it. */
const UNLIKE = Float32Array.from({ length: DIMENSION }, (_, i) => Math.abs(Math.sin(i)));

function near(centre: Float32Array): Float32Array {
  return centre.map((value) => value + 0.3 * (Math.random() - 0.5));
}

async function search(engine: Engine, ref: CollectionRef, query: Float32Array): Promise<unknown> {
  const request = { ids: null, where: null, embeddings: [query], limit: 10, include: INCLUDE };
  const { lists } = await engine.query(ref, request);
  return lists[0]!.map(({ id, score, document }) => [id, score, document]);
}

/** Where a collection is being opened, or its index is behind, callers are asked to try again. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SheafError) || error.code !== "unavailable") throw error;
    }
  }
}

function vector(): Float32Array {
  return Float32Array.from({ length: DIMENSION }, Math.random);
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(2);
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

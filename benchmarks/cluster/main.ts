/**
 * `npm run bench:cluster`: what a database costs. An engine on its own folder and one on PostgreSQL with a synchronous standby, both
 * in this process and on this disk, are asked in turn; a bare INSERT of as many bytes, through the same standby, says what the
 * database itself takes. Printed are medians, and goals.
 *
 * `-- --gateway WRITERS`: batches through a gateway and a search node, and the processor time of each process, see
 * `gateway-writes.ts`. Runs the server that `npm run build` has made.
 *
 * `-- --cold ROWS`: how soon a server answers that has nothing of a collection of so many records, see `cold-server.ts`. With a
 * real object store where SHEAF_TEST_VERSITYGW names its program.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseCreateCollection } from "@sheaf/protocol";
import { createLocalEngine } from "../../packages/engine/src/create-local-engine.ts";
import type { Engine } from "../../packages/engine/src/engine.ts";
import { PostgresPair } from "../../packages/engine/src/storage/postgres/testing/postgres-pair.ts";
import { median } from "../measure/statistics.ts";
import { measureColdServer } from "./cold-server.ts";
import { measureGatewayWrites } from "./gateway-writes.ts";

const DIMENSION = 384;
const RECORDS = 5_000;
const BATCH = 1_000;
const ROUNDS = 200;
const BATCH_ROUNDS = 10;
const WRITERS = 32;
const WRITERS_ROUNDS = 30;
/** What an append of one record writes. */
const INSERTED_BYTES = 2 * 1024;
const AT = { tenant: "default_tenant", database: "default_database" };
const NOTHING = {
  documents: false,
  embeddings: false,
  metadatas: false,
  distances: true,
  uris: false,
  keys: [],
};

type Records = Parameters<Engine["write"]>[1]["records"];
/** Makes what it needs, and gives what is measured. */
type Work = () => () => Promise<unknown>;

// Refuses options that it does not know.
const { cold, gateway } = parseArgs({
  options: { cold: { type: "string" }, gateway: { type: "string" } },
}).values;
if (gateway !== undefined) {
  await measureGatewayWrites(Number(gateway));
  process.exit();
}
const folder = await mkdtemp(join(process.env["SHEAF_BENCH_FOLDER"] ?? ".", "bench-cluster-"));
if (cold !== undefined) {
  try {
    await measureColdServer(folder, Number(cold));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  process.exit();
}
const database = await PostgresPair.start(true);
const settings = database.primary.settings();
const client = await database.primary.connect();
let written = 0;
try {
  await client.query("create table bare (id bigserial primary key, body bytea not null)");
  const [embedded, shared] = [
    await open(await createLocalEngine({ dataFolder: join(folder, "embedded") })),
    await open(await createLocalEngine({ dataFolder: join(folder, "cache"), database: settings })),
  ];
  const body = Buffer.alloc(INSERTED_BYTES, 7);
  const insert: Work = () => () => client.query("insert into bare (body) values ($1)", [body]);
  for (let i = 0; i < RECORDS; i += BATCH) for (const one of [embedded, shared]) await one.add(BATCH)();

  const [searchOne, searchShared] = await measure(ROUNDS, [embedded.search, shared.search]);
  const [writeOne, writeShared, bare] = await measure(ROUNDS, [
    () => embedded.add(1),
    () => shared.add(1),
    insert,
  ]);
  const vectors = Buffer.concat(records(BATCH).map(({ embedding }) => new Uint8Array(embedding!.buffer)));
  const [batchOne, batchShared, bareBatch] = await measure(BATCH_ROUNDS, [
    () => embedded.add(BATCH),
    () => shared.add(BATCH),
    () => () => client.query("insert into bare (body) values ($1)", [vectors]),
  ]);

  const [togetherOne, togetherShared] = await measure(WRITERS_ROUNDS, [
    () => embedded.addTogether(WRITERS),
    () => shared.addTogether(WRITERS),
  ]);

  console.log("| median | embedded, ms | database, ms | measured | goal |\n|---|---:|---:|---:|---:|");
  row("search of 5,000 records", [searchOne!, searchShared!], {
    measured: `+ ${(searchShared! - searchOne!).toFixed(2)} ms`,
    goal: "+ 1.5 ms",
  });
  const inserts = (writeShared! - writeOne!) / bare!;
  row("write of 1 record", [writeOne!, writeShared!], {
    measured: `+ ${inserts.toFixed(2)} bare INSERTs of ${bare!.toFixed(2)} ms`,
    goal: "+ 3 of them",
  });
  row("write of 1,000 records", [batchOne!, batchShared!], {
    measured: `${(batchOne! / batchShared!).toFixed(2)} of the speed; a bare INSERT of its vectors ${bareBatch!.toFixed(2)} ms, so at most ${(batchOne! / (batchOne! + bareBatch!)).toFixed(2)}`,
    goal: "0.6 of it",
  });
  row("32 writes of 1 record at once", [togetherOne!, togetherShared!], {
    measured: `+ ${((togetherShared! - togetherOne!) / bare!).toFixed(2)} bare INSERTs`,
    goal: "+ 6 of them",
  });
  await Promise.all([embedded.close(), shared.close()]);
} finally {
  await client.end().catch(() => {});
  await database.close();
  await rm(folder, { recursive: true, force: true });
}

async function open(engine: Engine) {
  const { id } = await engine.createCollection(parseCreateCollection({ name: "bench" }, AT));
  const ref = { ...AT, id };
  const search: Work = () => {
    const asked = { ids: null, where: null, embeddings: [vector()], limit: 10, include: NOTHING };
    return () => engine.query(ref, asked);
  };
  const add = (count: number) => {
    const made = records(count);
    return () => engine.write(ref, { kind: "add", records: made });
  };
  const addTogether = (count: number) => {
    const writes = Array.from({ length: count }, () => add(1));
    return () => Promise.all(writes.map((write) => write()));
  };
  return { search, add, addTogether, close: () => engine.close() };
}

/** Median milliseconds of each, taken in turn. */
async function measure(rounds: number, works: readonly Work[]): Promise<readonly number[]> {
  const times = works.map((): number[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, work] of works.entries()) {
      const measured = work();
      const begun = performance.now();
      await measured();
      times[i]!.push(performance.now() - begun);
    }
  return times.map(median);
}

function row(
  what: string,
  [embedded, shared]: readonly [number, number],
  { measured, goal }: { readonly measured: string; readonly goal: string },
): void {
  console.log(`| ${what} | ${embedded.toFixed(2)} | ${shared.toFixed(2)} | ${measured} | ${goal} |`);
}

function records(count: number): Records {
  return Array.from({ length: count }, () => ({
    ...{ id: `r${written++}`, document: "a text of some length", uri: null, metadata: null },
    embedding: vector(),
  }));
}

function vector(): Float32Array {
  return Float32Array.from({ length: DIMENSION }, Math.random);
}

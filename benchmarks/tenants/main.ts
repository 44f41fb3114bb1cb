/**
 * `npm run bench:tenants -- [--tenants 100000] [--searches 10000] [--seconds 10] [--shared on|off]`: many tenants, each with a
 * key, a database, a collection and 10 records of 384 dimensions, on a server that may have 1,024 files open. Says what they
 * take of memory and files, how long tenants and their first writes, searches of cold and warm collections and a start take, and
 * what writers of many collections reach compared with writers of one. The floor of a tenant and its first write is what the
 * same four requests take of a bare Node server, and four single commits.
 * Exit code 1 where a goal is missed.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createDiskSpace } from "../../packages/engine/src/storage/folder/disk-space.ts";
import { LmdbEnvironment } from "../../packages/engine/src/storage/lmdb/lmdb-environment.ts";
import { ROOT_KEY, ServedSheaf } from "../../test/e2e/testing/served-sheaf.ts";
import { HttpClient, succeeded } from "../search/http-client.ts";
import { floorPath, startFloor } from "../search/servers/floor-server.ts";
import { cpuSeconds, ownMebibytes } from "../measure/process-tree.ts";
import { seededRandom } from "../measure/random.ts";
import { readOptions } from "../measure/read-options.ts";
import { median } from "../measure/statistics.ts";
import { textTable } from "../measure/text-table.ts";

const RECORDS = 10;
const DIMENSIONS = 384;
const WRITERS = 32;
/** Made one after the other beside all the others, to be compared with single commits. */
const TIMED_TENANTS = 50;
const COMMITS = 40;
const COMMITS_PER_TENANT = 4;

interface Tenant {
  readonly key: string;
  /** Of its collection. */
  readonly path: string;
  /** What the server has said of its collection. */
  readonly answerBytes: number;
}

interface Figure {
  readonly what: string;
  readonly value: number;
  readonly goal: number | null;
  readonly unit: string;
  /** It should be at least the goal, not at most. */
  readonly atLeast?: boolean;
}

const { values } = readOptions(
  "bench:tenants -- [--tenants 100000] [--searches 10000] [--seconds 10] [--shared on|off]",
  {
    options: {
      tenants: { type: "string", default: "100000" },
      searches: { type: "string", default: "10000" },
      seconds: { type: "string", default: "10" },
      shared: { type: "string", default: "on" },
    },
  },
);
const count = Number(values.tenants);
const searches = Math.min(Number(values.searches), count);
const next = seededRandom(7);
const env = { SHEAF_SHARED_STORES: values.shared };
const vector = (): number[] => Array.from({ length: DIMENSIONS }, () => Math.fround(next() - 0.5));

let written = 0;

let served = await ServedSheaf.start({ env });
try {
  process.exitCode = report(await measureAll()) ? 0 : 1;
} finally {
  await served.dispose();
}

async function measureAll(): Promise<readonly Figure[]> {
  const client = rootClient();
  const tenants: Tenant[] = [];
  // Of a process that has just started, before its code is compiled.
  const firstTimes: number[] = [];
  for (let n = 0; n < Math.min(TIMED_TENANTS, count); n++)
    tenants.push(await makeTenant(client, n, firstTimes));
  const metricsBefore = await metricsTime(client);
  await byWorkers(count - tenants.length, async (n) => {
    tenants.push(await makeTenant(client, n + TIMED_TENANTS, []));
    if (tenants.length % 1_000 === 0) console.log(`${tenants.length} tenants`);
  });
  const metricsAfter = await metricsTime(client);
  const { times, floorTimes, commitMs, tenantCpuMs } = await timeTenants(client, tenants);
  const { cold, warm } = await searchSome(client, tenants);
  const memory = await ownMebibytes(served.pid);
  const one = await writeFor(client, () => tenants[0]!);
  const many = await writeFor(client, () => anyOf(tenants));
  const files = readdirSync(served.data, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;
  client.close();
  const startMs = await restart(tenants);
  const commitsMs = COMMITS_PER_TENANT * commitMs;
  const factor = median(times) / commitsMs;
  const floorMs = median(floorTimes) + commitsMs;
  return [
    { what: "memory of gateway and children", value: memory, goal: 2_048, unit: "MiB" },
    { what: "files of the data folder", value: files, goal: 2_000, unit: "" },
    { what: "process start to first answer", value: startMs, goal: 3_000, unit: "ms" },
    { what: "single commit of the same disk", value: commitMs, goal: null, unit: "ms" },
    { what: "tenant, database, collection and first write", value: median(times), goal: null, unit: "ms" },
    { what: "the same, right after the start", value: median(firstTimes), goal: null, unit: "ms" },
    { what: "the former, compared with four single commits", value: factor, goal: 1.5, unit: "x" },
    { what: "floor: a bare Node server, and four commits", value: floorMs, goal: null, unit: "ms" },
    { what: "the former, compared with the floor", value: median(times) / floorMs, goal: null, unit: "x" },
    { what: "processor time of the server for it and a key", value: tenantCpuMs, goal: null, unit: "ms" },
    { what: "writes a second of 32 writers of one tenant", value: one.perSecond, goal: null, unit: "" },
    { what: "processor time of the server for each", value: one.cpuMs, goal: null, unit: "ms" },
    {
      what: "of random tenants, compared with these",
      value: many.perSecond / one.perSecond,
      goal: 0.5,
      unit: "x",
      atLeast: true,
    },
    { what: "processor time of the server for each", value: many.cpuMs, goal: null, unit: "ms" },
    { what: "cold search, p50", value: median(cold), goal: 5, unit: "ms" },
    { what: "warm search, p50", value: median(warm), goal: 1, unit: "ms" },
    {
      what: `/metrics with ${count} tenants, compared with ${TIMED_TENANTS}`,
      value: metricsAfter / metricsBefore,
      goal: 2,
      unit: "x",
    },
  ];
}

function rootClient(): HttpClient {
  return new HttpClient(served.url, withKey(ROOT_KEY));
}

function withKey(key: string): Readonly<Record<string, string>> {
  return { "x-service-token": key };
}

/** Pushes the time of all but the key. */
async function makeTenant(client: HttpClient, n: number, times: number[]): Promise<Tenant> {
  const name = `tenant-${n}`;
  const startedAt = performance.now();
  await client.ask("/api/v2/tenants", { name });
  const keyAt = performance.now();
  const { key } = await client.ask<{ key: string }>("/api/v2/keys", {
    ...{ name, tenant: name, scopes: ["read", "write", "admin"] },
  });
  const keyMs = performance.now() - keyAt;
  const databases = `/api/v2/tenants/${name}/databases`;
  await client.ask(databases, { name: "main" }, withKey(key));
  const collections = `${databases}/main/collections`;
  const collection = await client.ask<{ id: string }>(collections, { name: "texts" }, withKey(key));
  const path = `${collections}/${collection.id}`;
  const tenant = { key, path, answerBytes: JSON.stringify(collection).length };
  await write(client, tenant, RECORDS);
  times.push(performance.now() - startedAt - keyMs);
  return tenant;
}

/** Some more tenants one after the other, each compared with single commits and with what is asked of the floor. */
async function timeTenants(
  client: HttpClient,
  tenants: Tenant[],
): Promise<{
  readonly times: readonly number[];
  readonly floorTimes: readonly number[];
  readonly commitMs: number;
  readonly tenantCpuMs: number;
}> {
  const floor = await startFloor("alone");
  const [times, floorTimes, commits]: [number[], number[], number[]] = [[], [], []];
  const cpuBefore = await cpuSeconds(served.pid);
  for (let n = 0; n < TIMED_TENANTS; n++) {
    const tenant = await makeTenant(client, count + n, times);
    tenants.push(tenant);
    floorTimes.push(await askFloor(floor.client, tenant));
    if (n % 10 === 0) commits.push(await commitTime());
  }
  const tenantCpuMs = (1_000 * ((await cpuSeconds(served.pid)) - cpuBefore)) / TIMED_TENANTS;
  await floor.stop();
  return { times, floorTimes, commitMs: median(commits), tenantCpuMs };
}

/** As `makeTenant`, of a server that does nothing for it. Returns milliseconds. */
async function askFloor(floor: HttpClient, { key, answerBytes }: Tenant): Promise<number> {
  const startedAt = performance.now();
  await floor.ask(floorPath(2), { name: "tenant" }, withKey(key));
  await floor.ask(floorPath(2), { name: "main" }, withKey(key));
  await floor.ask(floorPath(answerBytes), { name: "texts" }, withKey(key));
  await floor.ask(floorPath(2), writeBody(RECORDS), withKey(key));
  return performance.now() - startedAt;
}

async function write(client: HttpClient, { key, path }: Tenant, records: number): Promise<void> {
  await client.ask(`${path}/upsert`, writeBody(records), withKey(key));
}

function writeBody(records: number): object {
  return {
    ids: Array.from({ length: records }, () => `r${written++ % RECORDS}`),
    embeddings: Array.from({ length: records }, vector),
    metadatas: Array.from({ length: records }, (_, i) => ({ n: i })),
  };
}

async function search(client: HttpClient, { key, path }: Tenant): Promise<number> {
  const json = { query_embeddings: [vector()], n_results: 3, include: ["distances"] };
  const startedAt = performance.now();
  const { ids } = await client.ask<{ ids: string[][] }>(`${path}/query`, json, withKey(key));
  if (ids[0]?.length !== 3) throw new Error(`${path} has answered ${JSON.stringify(ids)}`);
  return performance.now() - startedAt;
}

async function searchSome(
  client: HttpClient,
  tenants: readonly Tenant[],
): Promise<{ readonly cold: readonly number[]; readonly warm: readonly number[] }> {
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let i = 0; i < searches; i++) {
    const tenant = anyOf(tenants);
    cold.push(await search(client, tenant));
    warm.push(await search(client, tenant));
  }
  return { cold, warm };
}

async function writeFor(
  client: HttpClient,
  pick: () => Tenant,
): Promise<{ readonly perSecond: number; readonly cpuMs: number }> {
  const until = performance.now() + Number(values.seconds) * 1_000;
  let done = 0;
  const cpuBefore = await cpuSeconds(served.pid);
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      for (; performance.now() < until; done++) await write(client, pick(), 1);
    }),
  );
  const perSecond = (1_000 * done) / (performance.now() - startedAt);
  return { perSecond, cpuMs: (1_000 * ((await cpuSeconds(served.pid)) - cpuBefore)) / done };
}

async function metricsTime(client: HttpClient): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const startedAt = performance.now();
    succeeded(await client.get("/metrics"));
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

async function restart(tenants: readonly Tenant[]): Promise<number> {
  const { data } = served;
  await served.stop();
  const startedAt = performance.now();
  served = await ServedSheaf.start({ data, env });
  const client = rootClient();
  await search(client, anyOf(tenants));
  client.close();
  return performance.now() - startedAt;
}

/** Of one entry, in an environment that holds nothing else. */
async function commitTime(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-commits-"));
  const environment = new LmdbEnvironment({
    folder: join(folder, "e"),
    name: "e",
    disk: createDiskSpace(folder),
  });
  const times: number[] = [];
  for (let i = 0; i < COMMITS; i++) {
    const startedAt = performance.now();
    await environment.transact(() => environment.put(Buffer.from(`key ${i}`), Buffer.alloc(200)));
    times.push(performance.now() - startedAt);
  }
  await environment.close();
  rmSync(folder, { recursive: true });
  return median(times);
}

async function byWorkers(many: number, work: (n: number) => Promise<void>): Promise<void> {
  let taken = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (taken < many) await work(taken++);
    }),
  );
}

function anyOf(tenants: readonly Tenant[]): Tenant {
  return tenants[Math.floor(next() * tenants.length)]!;
}

function report(figures: readonly Figure[]): boolean {
  const isMet = ({ value, goal, atLeast = false }: Figure): boolean =>
    goal === null || (atLeast ? value >= goal : value <= goal);
  const rows = figures.map((figure) => {
    const { what, value, goal, unit, atLeast = false } = figure;
    const wanted = goal === null ? "" : `${atLeast ? "at least" : "at most"} ${goal} ${unit}`;
    return [what, `${value.toPrecision(4)} ${unit}`, wanted, isMet(figure) ? "" : "MISSED"];
  });
  console.log(`\n${count} tenants, ${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}\n`);
  console.log(textTable(["", "measured", "goal", ""], rows));
  return figures.every(isMet);
}

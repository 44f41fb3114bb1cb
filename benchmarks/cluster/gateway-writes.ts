/**
 * What batches take that go through a gateway and a search node into PostgreSQL with a synchronous standby, beside a server that
 * keeps its records itself: all on this machine, asked in turn over HTTP. A bare INSERT of as many bytes, through the same standby,
 * says what the database alone takes: added to what the server of its own takes, it is a bound that no writer on it can pass.
 * Processor time is that of whole processes, with one checkpoint: the log has 64 MiB after some 40 batches. Where others keep the machine busy, only its ratios say something.
 */
import { randomBytes } from "node:crypto";
import { freePort } from "../../scripts/free-port.ts";
import { PostgresPair } from "../../packages/engine/src/storage/postgres/testing/postgres-pair.ts";
import { PASSWORD } from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { ServedSheaf, descendants } from "../../test/e2e/testing/served-sheaf.ts";
import { ownCpuSeconds } from "../measure/process-tree.ts";
import { median, sum } from "../measure/statistics.ts";
import { textTable } from "../measure/text-table.ts";

const DIMENSION = 384;
const BATCH = 1_000;
const ROUNDS = 30;
/** Until the code of all processes is compiled. */
const WARM_UP = 15;
/** Of a record in a log: its vector, and what stands beside it. */
const LOGGED_BYTES = 4 * DIMENSION + 112;
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const SECRET = "cluster-secret-of-the-benchmark-0123456789";

/** By their titles, the first that fits. */
const POSTGRES: readonly (readonly [RegExp, string])[] = [
  [/^postgres: walsender/u, "PostgreSQL, WAL sender"],
  [/^postgres: (?:walreceiver|startup)/u, "PostgreSQL, standby"],
  [/^postgres: sheaf/u, "PostgreSQL, backends"],
  [/^postgres:/u, "PostgreSQL, others"],
];

interface Side {
  readonly server: ServedSheaf;
  readonly path: string;
  /** Milliseconds of a batch. */
  readonly times: number[];
}

/** @param writers Batches that are under way at once. */
export async function measureGatewayWrites(writers: number): Promise<void> {
  const database = await PostgresPair.start(true);
  const started: ServedSheaf[] = [];
  const start = async (...args: readonly string[]): Promise<ServedSheaf> => {
    const env = { PGPASSWORD: PASSWORD, SHEAF_CLUSTER_SECRET: SECRET };
    const server = await ServedSheaf.launch({ args, env });
    started.push(server);
    await server.waitUntilReady();
    return server;
  };
  const inDatabase = ["--database", `${database.primary.url}?schema=bench`];
  try {
    const node = await start(...inDatabase, "--role", "search", "--node-listen", String(await freePort()));
    const gateway = await start(...inDatabase, "--role", "gateway");
    const own = await start();
    const sides = [await sideOf(own), await sideOf(gateway)] as const;
    for (let round = 0; round < WARM_UP; round++) for (const side of sides) await write(side, 1);
    for (const { times } of sides) times.length = 0;
    const processes = await processesOf({ own, gateway, node });
    const before = await secondsOf(processes);
    for (let round = 0; round < ROUNDS; round++)
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) await write(side, writers);
    const records = ROUNDS * writers * BATCH;
    const used = (await secondsOf(processes)).map((seconds, i) => ((seconds - before[i]!) / records) * 1e6);
    print({
      processes,
      used,
      times: sides.map(({ times }) => median(times)),
      bare: await bareInsert(database),
    });
  } finally {
    await Promise.all(started.map((server) => server.dispose()));
    await database.close();
  }
}

async function sideOf(server: ServedSheaf): Promise<Side> {
  const { id } = await server.ask<{ id: string }>(COLLECTIONS, { name: "bench" });
  return { server, path: `${COLLECTIONS}/${id}/add`, times: [] };
}

let written = 0;

async function write({ server, path, times }: Side, writers: number): Promise<void> {
  const bodies = Array.from({ length: writers }, batch);
  const begun = performance.now();
  await Promise.all(
    bodies.map(async (body) => {
      const headers = { "content-type": "application/json" };
      const answer = await server.request(path, { method: "POST", body, headers });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
    }),
  );
  times.push((performance.now() - begun) / writers);
}

function batch(): string {
  const ids = Array.from({ length: BATCH }, () => `r${written++}`);
  const embeddings = ids.map(() => {
    const { buffer } = Float32Array.from({ length: DIMENSION }, Math.random);
    return Buffer.from(buffer).toString("base64");
  });
  return JSON.stringify({ ids, embeddings, documents: ids.map(() => "a text of some length") });
}

interface Measured {
  readonly what: string;
  readonly pid: number;
  /** Of the server of its own, not of the others. */
  readonly isOwn: boolean;
}

async function processesOf(servers: Readonly<Record<"own" | "gateway" | "node", ServedSheaf>>) {
  const found: Measured[] = [];
  for (const [name, { pid }] of Object.entries(servers)) {
    const isOwn = name === "own";
    found.push({ what: name === "node" ? "search node: HTTP, relay" : "HTTP, parsing", pid, isOwn });
    for (const child of await descendants(pid))
      found.push({
        what: /engine-host/u.test(child.command) ? "engine host" : "models",
        pid: child.pid,
        isOwn,
      });
  }
  for (const { pid, command } of await descendants(process.pid)) {
    const what = POSTGRES.find(([title]) => title.test(command))?.[1];
    if (what !== undefined) found.push({ what, pid, isOwn: false });
  }
  return found;
}

function secondsOf(processes: readonly Pick<Measured, "pid">[]): Promise<readonly number[]> {
  return Promise.all(processes.map(({ pid }) => ownCpuSeconds(pid)));
}

/** Of as many bytes as the log has of a batch: milliseconds, and microseconds of PostgreSQL's processor time a record. */
async function bareInsert(database: PostgresPair): Promise<{ readonly ms: number; readonly us: number }> {
  const client = await database.primary.connect();
  try {
    await client.query("create table bare (id bigserial primary key, body bytea not null)");
    await client.query("alter table bare alter column body set storage external");
    const body = randomBytes(BATCH * LOGGED_BYTES);
    const insert = (): Promise<unknown> => client.query("insert into bare (body) values ($1)", [body]);
    for (let round = 0; round < WARM_UP; round++) await insert();
    const postgres = (await descendants(process.pid)).filter(({ command }) =>
      command.startsWith("postgres:"),
    );
    const before = sum(await secondsOf(postgres));
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const begun = performance.now();
      await insert();
      times.push(performance.now() - begun);
    }
    const seconds = sum(await secondsOf(postgres)) - before;
    return { ms: median(times), us: (seconds / (ROUNDS * BATCH)) * 1e6 };
  } finally {
    await client.end();
  }
}

interface Result {
  readonly processes: readonly Measured[];
  /** Microseconds of processor time a record, of each of them. */
  readonly used: readonly number[];
  /** Milliseconds of a batch: of the server of its own, and through the gateway. */
  readonly times: readonly number[];
  readonly bare: { readonly ms: number; readonly us: number };
}

function print({ processes, used, times, bare }: Result): void {
  const total = (wanted: (one: Measured) => boolean): number =>
    sum(used.filter((_, i) => wanted(processes[i]!)));
  const names = [...new Set(processes.map(({ what }) => what))];
  const sides = [true, false].map(
    (isOwn) =>
      (what: string): number =>
        total((one) => one.isOwn === isOwn && one.what === what),
  );
  const rows = names.map((what) => [what, ...sides.map((of) => of(what).toFixed(1))]);
  const sums = [total(({ isOwn }) => isOwn), total(({ isOwn }) => !isOwn)] as const;
  const [own = 0, through = 0] = times;
  const header = ["us of processor time a record", "own records", "gateway, node, PostgreSQL"];
  console.log(textTable(header, [...rows, ["all", ...sums.map((one) => one.toFixed(1))]]));
  const measured = [
    ["a batch of 1,000, ms", own, through, bare.ms],
    ["processor time, us a record", ...sums, bare.us],
  ] as const;
  console.log();
  console.log(
    textTable(
      ["", "own records", "gateway", "bare INSERT", "share reached", "at most, by the INSERT alone", "goal"],
      measured.map(([what, mine, theirs, insert]) => [
        ...[what, mine.toFixed(1), theirs.toFixed(1), insert.toFixed(1)],
        ...[(mine / theirs).toFixed(2), (mine / (mine + insert)).toFixed(2), "0.60"],
      ]),
    ),
  );
}

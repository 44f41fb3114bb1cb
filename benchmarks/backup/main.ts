/**
 * `npm run bench:backup -- --rows 100000 [--collections 1]`: what backups take of the disk. Collections are filled, a full backup
 * made, a share of their rows changed, and an incremental backup made. Bytes and files are exact; times are of this process and
 * its children, on this machine.
 */
import { readdirSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { parseCreateCollection } from "@sheaf/protocol";
import { createLocalEngine } from "../../packages/engine/src/create-local-engine.ts";
import type { Engine } from "../../packages/engine/src/engine.ts";

const AT = { tenant: "default_tenant", database: "default_database" };
const BATCH = 1_000;
/** Scale in docs/internals/scale.md. */
const GOAL = 0.05;
const REST_MS = 4_000;
/** In which `stat` counts, whatever those of the file system are. */
const DISK_BLOCK = 512;

interface MadeBackup {
  /** Of the files of collections. */
  readonly bytes: number;
  /** Of everything, in whole blocks. */
  readonly onDisk: number;
  readonly entries: number;
  readonly seconds: number;
}

const flags = new Command("bench:backup")
  .option("--rows <number>", "rows of all collections", Number, 100_000)
  .option("--collections <number>", "that the rows are divided among", Number, 1)
  .option("--dimensions <number>", "of a vector", Number, 384)
  .option("--changed <share>", "of the rows, between the two backups; 0: none", Number, 0.01)
  .parse()
  .opts<{
    readonly rows: number;
    readonly collections: number;
    readonly dimensions: number;
    readonly changed: number;
  }>();

const folder = await mkdtemp(join(process.env["SHEAF_BENCH_FOLDER"] ?? ".", "bench-backup-"));
const engine = await createLocalEngine({ dataFolder: join(folder, "data") });
const ids: string[] = [];
for (let i = 0; i < flags.collections; i++)
  ids.push((await engine.createCollection(parseCreateCollection({ name: `backed-up-${i}` }, AT))).id);
const rows = Math.floor(flags.rows / flags.collections);

await upsert(Array.from({ length: rows }, (_, i) => i));
const full = await backUp("full", null);
const step = Math.max(1, Math.round(1 / flags.changed));
await upsert(Array.from({ length: Math.floor(rows / step) }, (_, i) => i * step));
const incremental = await backUp("incremental", "full");

const ratio = incremental.bytes / full.bytes;
console.log(
  `| ${rows} x ${flags.dimensions}, ${flags.collections} times | bytes | bytes of the disk | files and folders | seconds |\n|---|---:|---:|---:|---:|`,
);
for (const [what, made] of [
  ["full", full],
  [`incremental, ${100 / step} % changed`, incremental],
] as const)
  console.log(`| ${what} | ${made.bytes} | ${made.onDisk} | ${made.entries} | ${made.seconds.toFixed(1)} |`);
console.log(`ratio ${(100 * ratio).toFixed(2)} %, goal 5 %: ${ratio <= GOAL ? "held" : "MISSED"}`);
await engine.close();
await rm(folder, { recursive: true, force: true });
process.exit(0);

/** Of rows all over each collection, as users change them. Until the indexes rest. */
async function upsert(rows: readonly number[]): Promise<void> {
  for (const id of rows.length === 0 ? [] : ids)
    for (let from = 0; from < rows.length; from += BATCH)
      await engine.write(
        { ...AT, id },
        { kind: "upsert", records: rows.slice(from, from + BATCH).map(record) },
      );
  await rest();
}

/** Until segments are sealed and merged: less than a hundredth of a core for as long as a step of that may pause. */
async function rest(): Promise<void> {
  for (let used = Infinity; used > REST_MS / 100;) {
    const before = process.cpuUsage();
    await sleep(REST_MS);
    const { user, system } = process.cpuUsage(before);
    used = (user + system) / 1_000;
  }
}

function record(row: number): Parameters<Engine["write"]>[1]["records"][number] {
  return {
    ...{
      id: `r${row}`,
      document: `the text of row ${row}`,
      uri: null,
      metadata: new Map([["n", BigInt(row)]]),
    },
    embedding: Float32Array.from({ length: flags.dimensions }, () => Math.random()),
  };
}

async function backUp(name: string, base: string | null): Promise<MadeBackup> {
  const startedAt = performance.now();
  const target = join(folder, name);
  const added = base === null ? null : join(folder, base);
  const { bytes } = await engine.makeBackup({ target, base: added, tenant: null, keys: false });
  const seconds = (performance.now() - startedAt) / 1_000;
  const entries = readdirSync(target, { recursive: true, encoding: "utf8" });
  const onDisk = entries.reduce((sum, name) => sum + statSync(join(target, name)).blocks * DISK_BLOCK, 0);
  return { bytes, onDisk, entries: entries.length, seconds };
}

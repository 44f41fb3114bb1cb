/**
 * `npm run bench:backup -- --rows 100000`: what backups take of the disk. One collection is filled, a full backup made, a share of
 * its rows changed, and an incremental backup made. With `--collections 2500` so many small collections are filled instead. Bytes are exact; times are of this process and its children, on this machine.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { parseCreateCollection } from "@sheaf/protocol";
import { createLocalEngine } from "../../packages/engine/src/create-local-engine.ts";
import type { Engine } from "../../packages/engine/src/engine.ts";
import { benchSmallCollections } from "./small-collections.ts";

const AT = { tenant: "default_tenant", database: "default_database" };
const BATCH = 1_000;
/** Scale in docs/internals/scale.md. */
const GOAL = 0.05;
const REST_MS = 4_000;

const flags = new Command("bench:backup")
  .option("--rows <number>", "rows of the collection", Number, 100_000)
  .option("--dimensions <number>", "of a vector", Number, 384)
  .option("--changed <share>", "of the rows, between the two backups", Number, 0.01)
  .option("--collections <number>", "small ones, instead of a large one", Number, 0)
  .parse()
  .opts<{
    readonly rows: number;
    readonly dimensions: number;
    readonly changed: number;
    readonly collections: number;
  }>();

const folder = await mkdtemp(join(process.env["SHEAF_BENCH_FOLDER"] ?? ".", "bench-backup-"));
if (flags.collections > 0) {
  await benchSmallCollections(folder, flags.collections);
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}
const engine = await createLocalEngine({ dataFolder: join(folder, "data") });
const { id } = await engine.createCollection(parseCreateCollection({ name: "backed-up" }, AT));

await upsert(Array.from({ length: flags.rows }, (_, i) => i));
const full = await backUp("full", null);
const step = Math.max(1, Math.round(1 / flags.changed));
await upsert(Array.from({ length: Math.floor(flags.rows / step) }, (_, i) => i * step));
const incremental = await backUp("incremental", "full");

const ratio = incremental.bytes / full.bytes;
console.log(`| ${flags.rows} x ${flags.dimensions} | bytes | seconds |\n|---|---:|---:|`);
console.log(`| full | ${full.bytes} | ${full.seconds.toFixed(1)} |`);
console.log(
  `| incremental, ${100 / step} % changed | ${incremental.bytes} | ${incremental.seconds.toFixed(1)} |`,
);
console.log(`ratio ${(100 * ratio).toFixed(2)} %, goal 5 %: ${ratio <= GOAL ? "held" : "MISSED"}`);
await engine.close();
await rm(folder, { recursive: true, force: true });
process.exit(0);

/** Of rows all over the collection, as users change them. Until the index rests. */
async function upsert(rows: readonly number[]): Promise<void> {
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

async function backUp(
  name: string,
  base: string | null,
): Promise<{ readonly bytes: number; readonly seconds: number }> {
  const startedAt = performance.now();
  const target = join(folder, name);
  const added = base === null ? null : join(folder, base);
  const { bytes } = await engine.makeBackup({ target, base: added, tenant: null, keys: false });
  return { bytes, seconds: (performance.now() - startedAt) / 1_000 };
}

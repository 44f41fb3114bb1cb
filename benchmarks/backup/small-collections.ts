/** What backups of many small collections take: seconds, seconds of processor time, bytes and files. */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseCreateCollection } from "@sheaf/protocol";
import { restoreBackup } from "../../packages/engine/src/backup/restore-backup.ts";
import { createLocalEngine } from "../../packages/engine/src/create-local-engine.ts";
import type { Engine } from "../../packages/engine/src/engine.ts";

const AT = { tenant: "default_tenant", database: "default_database" };
const RECORDS = 10;
const DIMENSIONS = 32;
const AT_A_TIME = 100;
/** Of /proc on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** Prints a table: a full backup, an incremental one without changes, and a restore of both. */
export async function benchSmallCollections(folder: string, collections: number): Promise<void> {
  const [data, full, next, restored] = ["data", "full", "next", "restored"].map((name) => join(folder, name));
  const engine = await createLocalEngine({ dataFolder: data! });
  for (let from = 0; from < collections; from += AT_A_TIME) {
    const count = Math.min(AT_A_TIME, collections - from);
    await Promise.all(Array.from({ length: count }, (_, i) => fill(engine, from + i)));
  }
  const whole = { tenant: null, keys: false };
  console.log(
    `| ${collections} x ${RECORDS} x ${DIMENSIONS} | s | processor s | bytes | files |\n|---|---:|---:|---:|---:|`,
  );
  console.log(`| data folder | | | ${sizes(data!)} |`);
  await timed("full", full!, () => engine.makeBackup({ ...whole, target: full!, base: null }));
  await timed("incremental, nothing changed", next!, () =>
    engine.makeBackup({ ...whole, target: next!, base: full! }),
  );
  await engine.close();
  await timed("restore", restored!, () =>
    restoreBackup({ backup: next!, dataFolder: restored!, tenant: null }),
  );
}

async function fill(engine: Engine, n: number): Promise<void> {
  const { id } = await engine.createCollection(parseCreateCollection({ name: `collection-${n}` }, AT));
  const records = Array.from({ length: RECORDS }, (_, i) => ({
    ...{ id: `r${i}`, document: `text ${i} of ${n}`, uri: null, metadata: null },
    embedding: Float32Array.from({ length: DIMENSIONS }, () => Math.random()),
  }));
  await engine.write({ ...AT, id }, { kind: "upsert", records });
}

async function timed(what: string, made: string, work: () => Promise<unknown>): Promise<void> {
  const [startedAt, used] = [performance.now(), processorSeconds()];
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const busy = processorSeconds() - used;
  console.log(`| ${what} | ${seconds.toFixed(1)} | ${busy.toFixed(1)} | ${sizes(made)} |`);
}

/** Of this process and of its children that have ended: the one that makes a backup has, once that is made. */
function processorSeconds(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ticks.slice(11, 15).reduce((sum, field) => sum + Number(field) / TICKS_PER_SECOND, 0);
}

function sizes(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(folder, name)))
    .filter((found) => found.isFile());
  return `${files.reduce((sum, { size }) => sum + size, 0)} | ${files.length}`;
}

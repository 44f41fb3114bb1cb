/**
 * `npm run bench:facets -- --rows N`: how long an engine takes to count the values of 20 metadata keys, of all records and
 * under filters, once columns are there; and of single keys of several kinds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type MetadataValue, parseCreateCollection, parseFacetsRequest } from "@sheaf/protocol";
import { createLocalEngine } from "@sheaf/engine/local";
import { seededRandom } from "../measure/random.ts";
import { readOptions } from "../measure/read-options.ts";
import { median, quantile } from "../measure/statistics.ts";
import { textTable } from "../measure/text-table.ts";

const AT = { tenant: "default_tenant", database: "default_database" };
const BATCH = 5_000;
const REPEATS = 20;
const SETTLED_MS = 3_000;

const { values } = readOptions("bench:facets -- [--rows 100000]", {
  options: { rows: { type: "string", default: "100000" } },
});
const rows = Number(values.rows);
const random = seededRandom(7);
const any = (count: number): number => Math.floor(random() * count);

/** Kind of key -> how many there are, and what a record has under it. */
const KINDS: Readonly<Record<string, readonly [number, (row: number) => MetadataValue]>> = {
  "10 texts": [5, () => `category ${any(10)}`],
  "50 integers": [5, () => BigInt(any(50))],
  "1,000 texts": [4, () => `author ${any(1_000)}`],
  "200 floats": [2, () => any(200) / 8],
  "3 of 30 tags": [2, () => ["tag-a", "tag-b", "tag-c"].map((tag, i) => `${tag}${any(10) + i}`)],
  "10,000 texts": [1, () => `city ${any(10_000)}`],
  "a time of its own": [1, (row) => BigInt(1_700_000_000 + row)],
};
const keys = Object.entries(KINDS).flatMap(([kind, [count]]) =>
  Array.from({ length: count }, (_, i) => `${kind} ${i}`),
);

function recordOf(row: number): Map<string, MetadataValue> {
  const metadata = new Map<string, MetadataValue>();
  for (const [kind, [count, make]] of Object.entries(KINDS))
    for (let i = 0; i < count; i++) metadata.set(`${kind} ${i}`, make(row));
  return metadata;
}

const folder = mkdtempSync(join(tmpdir(), "sheaf-facets-"));
console.log(
  `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`,
);
const engine = await createLocalEngine({ dataFolder: folder, index: { files: true } });
try {
  const { id } = await engine.createCollection(parseCreateCollection({ name: "facets" }, AT));
  const ref = { ...AT, id };
  for (let from = 0; from < rows; from += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, rows - from) }, (_, i) => ({
      ...{ id: `record-${from + i}`, embedding: Float32Array.from({ length: 8 }, random) },
      ...{ document: null, uri: null, metadata: recordOf(from + i) },
    }));
    await engine.write(ref, { kind: "add", records });
  }
  while ((await engine.statistics()).unsealedRows > BATCH) await sleep(SETTLED_MS);
  await sleep(SETTLED_MS);

  const measure = async (body: object): Promise<string[]> => {
    const request = parseFacetsRequest(body);
    const times: number[] = [];
    const cpu: number[] = [];
    for (let i = 0; i <= REPEATS; i++) {
      const before = process.cpuUsage();
      const startedAt = performance.now();
      await engine.facets(ref, request);
      times.push(performance.now() - startedAt);
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1_000);
    }
    const [first = 0, ...others] = times;
    return [first, median(others), quantile(others, 0.95), median(cpu.slice(1))].map((ms) => ms.toFixed(1));
  };
  const half = { "50 integers 0": { $lt: 25n } };
  const few = { "50 integers 0": { $lt: 2n } };
  const lines = [
    ["20 keys", ...(await measure({ keys }))],
    ["20 keys, a filter of 50 %", ...(await measure({ keys, where: half }))],
    ["20 keys, a filter of 4 %", ...(await measure({ keys, where: few }))],
    ["20 keys, with histograms", ...(await measure({ keys, histogram: 20 }))],
  ];
  for (const kind of Object.keys(KINDS))
    lines.push([`one key: ${kind}`, ...(await measure({ keys: [`${kind} 0`] }))]);
  console.log(`\n${rows.toLocaleString("en")} records, milliseconds in the engine:\n`);
  console.log(textTable(["facets of", "first", "p50", "p95", "CPU p50"], lines));
} finally {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
}

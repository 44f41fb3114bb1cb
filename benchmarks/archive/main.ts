/**
 * `npm run bench:archive`: what an archive costs a write. Two engines in this process, one with an archive and one without, are
 * written to in turn, so that both meet the same machine; printed are medians over rounds, and their ratio.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseCreateCollection } from "@sheaf/protocol";
import { createLocalEngine } from "../../packages/engine/src/create-local-engine.ts";
import type { Engine } from "../../packages/engine/src/engine.ts";

const ROUNDS = 15;
const DIMENSION = 384;
const AT = { tenant: "default_tenant", database: "default_database" };
const SHAPES = [
  { name: "1 writer, 1 record a write", writers: 1, records: 1, writes: 20 },
  { name: "1 writer, 1,000 records a write", writers: 1, records: 1_000, writes: 2 },
  { name: "32 writers, 1 record a write", writers: 32, records: 1, writes: 4 },
];

const folder = await mkdtemp(join(process.env["SHEAF_BENCH_FOLDER"] ?? ".", "bench-archive-"));
let written = 0;

async function open(
  name: string,
  archived: boolean,
): Promise<(shape: (typeof SHAPES)[number]) => Promise<number>> {
  const engine: Engine = await createLocalEngine({
    dataFolder: join(folder, name),
    ...(archived ? { archive: { folder: join(folder, `${name}-archive`), keepMs: 86_400_000 } } : {}),
  });
  const { id } = await engine.createCollection(parseCreateCollection({ name }, AT));
  return async ({ writers, records, writes }) => {
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: writers }, async () => {
        for (let i = 0; i < writes; i++)
          await engine.write({ ...AT, id }, { kind: "add", records: batch(records) });
      }),
    );
    return (performance.now() - startedAt) / writes;
  };
}

function batch(records: number): Parameters<Engine["write"]>[1]["records"] {
  return Array.from({ length: records }, () => ({
    ...{ id: `r${written++}`, document: "a text of some length", uri: null, metadata: null },
    embedding: Float32Array.from({ length: DIMENSION }, () => Math.random()),
  }));
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

const [plain, archived] = [await open("plain", false), await open("archived", true)];
console.log("| writes | without, ms | with, ms | ratio |\n|---|---:|---:|---:|");
for (const shape of SHAPES) {
  const [without, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    without.push(await plain(shape));
    beside.push(await archived(shape));
  }
  const [a, b] = [median(without), median(beside)];
  console.log(`| ${shape.name} | ${a.toFixed(1)} | ${b.toFixed(1)} | ${(b / a).toFixed(2)} |`);
}
await rm(folder, { recursive: true, force: true });
process.exit(0);

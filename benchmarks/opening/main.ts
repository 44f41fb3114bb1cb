/**
 * `npm run bench:opening -- --rows N`: how long an engine takes from the opening of a collection to its first search, and
 * how much memory it has then, with index files, with one of them lost, and without. In processes of their own, so that
 * memory is that of one.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseCreateCollection } from "@sheaf/protocol";
import { createLocalEngine } from "../../packages/engine/src/create-local-engine.ts";
import { readOptions } from "../measure/read-options.ts";

const AT = { tenant: "default_tenant", database: "default_database" };
const DIMENSION = 384;
const BATCH = 1_000;
const NOTHING = {
  ...{ documents: false, embeddings: false, metadatas: false, uris: false, distances: true },
  keys: [],
};

const WHAT: Readonly<Record<string, string>> = {
  files: "index files",
  lost: "index files without the largest",
  records: "records",
};

const { values } = readOptions("bench:opening -- [--rows 100000] [--step STEP] [--folder FOLDER] [--id ID]", {
  options: {
    rows: { type: "string", default: "100000" },
    step: { type: "string", default: "all" },
    folder: { type: "string", default: "" },
    id: { type: "string", default: "" },
  },
});
const rows = Number(values.rows);

/** Around one of 256 centres. */
function vectorOf(row: number): Float32Array {
  const centre = row % 256;
  return Float32Array.from({ length: DIMENSION }, (_, j) => {
    const noise = Math.sin(row * 12.9898 + j * 78.233) * 43_758.5453;
    return Math.sin(centre * 7.13 + j * 1.7) + 0.5 * (noise - Math.floor(noise));
  });
}

function indexOf(dataFolder: string, id: string): string {
  return join(dataFolder, "collections", id.slice(0, 2), id, "index");
}

/** The largest segment. */
function loseFile(dataFolder: string, id: string): void {
  const index = indexOf(dataFolder, id);
  const sizeOf = (name: string): number => statSync(join(index, name)).size;
  const segments = readdirSync(index).filter((name) => name.endsWith(".seg"));
  const [largest] = segments.toSorted((a, b) => sizeOf(b) - sizeOf(a));
  rmSync(join(index, largest!));
}

async function fill(dataFolder: string): Promise<string> {
  const engine = await createLocalEngine({ dataFolder, index: { files: true } });
  const { id } = await engine.createCollection(parseCreateCollection({ name: "opening" }, AT));
  const index = indexOf(dataFolder, id);
  for (let from = 0; from < rows; from += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, rows - from) }, (_, i) => {
      const metadata = new Map([["n", BigInt((from + i) % 100)]]);
      const document = `document ${from + i} about ${(from + i) % 1_000}`;
      return { id: `record-${from + i}`, embedding: vectorOf(from + i), document, uri: null, metadata };
    });
    await engine.write({ ...AT, id }, { kind: "add", records });
  }
  // Until nothing changes any more.
  for (let before = "", same = 0; same < 12;) {
    await sleep(1_000);
    const now = existsSync(index) ? readdirSync(index).toString() : "";
    same = now !== "" && now === before ? same + 1 : 0;
    before = now;
  }
  await engine.close();
  return id;
}

async function open(dataFolder: string, id: string, step: string): Promise<void> {
  if (step === "lost") loseFile(dataFolder, id);
  const files = step !== "records";
  const log = ({ message }: { readonly message: string }): void => console.log(`  ${message}`);
  const started = performance.now();
  const engine = await createLocalEngine({ dataFolder, index: { files }, log });
  const opened = performance.now();
  const used = process.cpuUsage();
  const times: number[] = [];
  let processor = 0;
  for (let i = 0; i < 20; i++) {
    const from = performance.now();
    const embeddings = [vectorOf(i * 4_001)];
    await engine.query({ ...AT, id }, { ids: null, where: null, embeddings, limit: 10, include: NOTHING });
    times.push(performance.now() - from);
    if (i === 0) processor = (process.cpuUsage(used).user + process.cpuUsage(used).system) / 1_000;
  }
  const memory = Math.round(process.memoryUsage().rss / 2 ** 20);
  const [first, ...others] = times as [number, ...number[]];
  const median = others.toSorted((a, b) => a - b)[Math.floor(others.length / 2)]!;
  console.log(
    `${WHAT[step]}: engine ${(opened - started).toFixed(0)} ms, ` +
      `first search ${first.toFixed(0)} ms (${processor.toFixed(0)} ms of processor time), then ${median.toFixed(2)} ms (median of 19), ${memory} MiB resident`,
  );
  await engine.close();
}

if (values.step === "fill") console.log(await fill(values.folder));
else if (values.step in WHAT) await open(values.folder, values.id, values.step);
else {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-opening-"));
  const run = (step: string, id = ""): string => {
    const args = [...process.execArgv, fileURLToPath(import.meta.url)];
    const flags = ["--rows", String(rows), "--step", step, "--folder", folder, "--id", id];
    return spawnSync(process.execPath, [...args, ...flags], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }).stdout.trim();
  };
  try {
    console.log(`${rows} records of ${DIMENSION} dimensions`);
    const id = run("fill");
    for (const step of ["files", "files", "lost", "records"]) console.log(run(step, id));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

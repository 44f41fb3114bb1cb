/**
 * What filters look at, of one segment on disk: how long writing takes and holds the thread, what a filter that is new to
 * the process costs, and the memory afterwards. Each filter begins with a segment that was just opened.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MetadataValue } from "../../packages/protocol/src/index.ts";
import { BLOCK_DOCS } from "../../packages/engine/src/segment/block-docs.ts";
import type { ColumnQuery } from "../../packages/engine/src/segment/columns/metadata-column.ts";
import { scalarKey } from "../../packages/engine/src/segment/columns/scalar-key.ts";
import { type FileBlocks, openBlocks } from "../../packages/engine/src/segment/files/open-blocks.ts";
import { openPostings } from "../../packages/engine/src/segment/files/open-postings.ts";
import { writeBlocks } from "../../packages/engine/src/segment/files/write-blocks.ts";
import { writePostings } from "../../packages/engine/src/segment/files/write-postings.ts";
import { MemoryBlock } from "../../packages/engine/src/segment/memory-block.ts";
import { SparsePostings } from "../../packages/engine/src/segment/postings/sparse-postings.ts";
import { containing } from "../../packages/engine/src/segment/trigrams/trigram-query.ts";
import type { FolderFiles } from "../../packages/engine/src/storage/files/folder-files.ts";
import { runSteps } from "../../packages/engine/src/storage/steps.ts";
import { openSections } from "../../packages/engine/src/storage/files/section-reader.ts";
import { type FileIdentity, writeSections } from "../../packages/engine/src/storage/files/section-writer.ts";

const NAME = "filters.seg";
const ROUNDS = 5;
/** Of writing, between two turns of the event loop. */
const STRETCH_MS = 2;
const WORDS = 2_000;
const TERMS = 40;
const RARE_KEYS = 100_000;

/** Rows of a table: what, how long, unit. */
export async function measureFilters(files: FolderFiles, rows: number): Promise<string[][]> {
  const table: string[][] = [];
  const add = (name: string, value: number, unit = "ms"): void => {
    table.push([name, value.toFixed(2), unit]);
  };
  const { identity, longest, total, columns } = await written(files, rows);
  add("write metadata, trigrams and postings", total);
  add("… longest delay of the event loop", longest);
  add("… make one column in memory, per block", columns);
  const filter = async (name: string, run: (file: FileBlocks) => number): Promise<void> => {
    let best = Infinity;
    let found = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const reader = await openSections(files, identity);
      const file = await openBlocks(reader, rows);
      const start = performance.now();
      found = run(file);
      best = Math.min(best, performance.now() - start);
      await reader.close();
    }
    add(`first filter, ${name} (${found} rows)`, best);
  };
  const equal = (value: string): ColumnQuery => ({ type: "equal", values: new Set([scalarKey(value)]) });
  await filter("text of 20 values", (file) => selected(file, "category", equal("category 7")));
  await filter("text of 120 characters, each once", (file) => selected(file, "url", equal(urlOf(4_711))));
  await filter("number range", (file) =>
    selected(file, "price", { type: "range", operator: "$lt", bound: 100 }),
  );
  await filter("member of arrays", (file) => selected(file, "tags", { type: "member", value: "tag 3" }));
  await filter("key of one row in 100,000", (file) => selected(file, "key 4711", equal("x")));
  await filter("key of no row", (file) => selected(file, "absent", equal("x")));
  await filter("document", (file) => {
    const query = containing("word17 word18");
    return file.blocks.reduce((sum, { signatures }) => sum + countOf(signatures.having(query)), 0);
  });
  await filter("metadata of 100 rows", (file) => {
    for (let i = 0; i < 100; i++) metadataOf(file, (i * 7_919) % rows);
    return 100;
  });
  await readPostings(files, identity, { rows, add });
  await measureMemory(files, identity, { rows, add });
  return table;
}

interface Measured {
  readonly rows: number;
  readonly add: (name: string, value: number, unit?: string) => void;
}

async function readPostings(
  files: FolderFiles,
  identity: FileIdentity,
  { rows, add }: Measured,
): Promise<void> {
  const reader = await openSections(files, identity);
  const postings = await openPostings(reader, rows);
  const start = performance.now();
  let bytes = 0;
  for (const { block } of postings.byKey.get("terms")!.blocks) bytes += block.bytes.length;
  add(`read postings, ${(bytes / 1e6).toFixed(0)} MB at once`, performance.now() - start);
  postings.byKey.get("terms")!.close();
  await reader.close();
}

async function measureMemory(
  files: FolderFiles,
  identity: FileIdentity,
  { rows, add }: Measured,
): Promise<void> {
  const reader = await openSections(files, identity);
  const before = heldBytes();
  const file = await openBlocks(reader, rows);
  add("memory of an open segment", (heldBytes() - before) / 1e6, "MB");
  for (const key of ["category", "price"])
    selected(file, key, { type: "range", operator: "$lt", bound: 100 });
  add("… after filters on two keys", (heldBytes() - before) / 1e6, "MB");
  for (let docId = 0; docId < rows; docId++) metadataOf(file, docId);
  add("… after the metadata of all rows", (heldBytes() - before) / 1e6, "MB");
  await reader.close();
}

async function written(
  files: FolderFiles,
  rows: number,
): Promise<{
  readonly identity: FileIdentity;
  readonly longest: number;
  readonly total: number;
  readonly columns: number;
}> {
  const blocks: MemoryBlock[] = [];
  const postings = new SparsePostings();
  for (let docId = 0; docId < rows; docId++) {
    if (docId % BLOCK_DOCS === 0) blocks.push(new MemoryBlock());
    const block = blocks.at(-1)!;
    const words = Array.from({ length: 15 }, (_, i) => `word${(docId * 31 + i) % WORDS}`);
    block.signatures.add(docId % BLOCK_DOCS, words.join(" "));
    block.push(metadataAt(docId));
    const indices = Uint32Array.from({ length: TERMS }, (_, i) => i * 1_000 + ((docId * (i + 7)) % 997));
    postings.add(docId, { indices, values: new Float32Array(TERMS).fill(1.5) });
  }
  blocks.at(-1)!.seal();
  runSteps(postings.seal());
  const began = performance.now();
  for (const { columns } of blocks) columns.column("url");
  const columns = (performance.now() - began) / blocks.length;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();
  let until = 0;
  const pause = async (): Promise<void> => {
    if (performance.now() < until) return;
    await nextTurn();
    until = performance.now() + STRETCH_MS;
  };
  const identity = await writeSections(files, NAME, async (writer) => {
    await writeBlocks(writer, blocks, pause);
    await writePostings(writer, new Map([["terms", postings]]), pause);
  });
  const total = performance.now() - start;
  delay.disable();
  return { identity, longest: delay.max / 1e6, total, columns };
}

function metadataAt(docId: number): ReadonlyMap<string, MetadataValue> {
  return new Map<string, MetadataValue>([
    ["category", `category ${docId % 20}`],
    ["url", urlOf(docId)],
    ["price", BigInt((docId * 7_919) % 10_000)],
    ["created", 1.7e12 + docId * 1_000],
    ["tags", [0, 1, 2].map((i) => `tag ${(docId + i * i) % 50}`)],
    [`key ${docId % RARE_KEYS}`, "x"],
  ]);
}

function urlOf(docId: number): string {
  return `https://example.com/${"path/".repeat(18)}${String(docId).padStart(10, "0")}`;
}

function metadataOf({ blocks }: FileBlocks, docId: number): void {
  if (blocks[Math.floor(docId / BLOCK_DOCS)]!.metadata.get(docId % BLOCK_DOCS) === null)
    throw new Error(`row ${docId} has no metadata`);
}

/** As a filter does it: the bits of each block. */
function selected({ blocks }: FileBlocks, key: string, query: ColumnQuery): number {
  return blocks.reduce(
    (sum, { columns }) => sum + countOf(runSteps(columns.column(key))!.select(query).bits()),
    0,
  );
}

function countOf(bits: Uint32Array): number {
  let count = 0;
  for (let word of bits) for (; word !== 0; word &= word - 1) count++;
  return count;
}

function heldBytes(): number {
  const { gc } = globalThis;
  gc?.();
  gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

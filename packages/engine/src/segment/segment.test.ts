import type { SparseVector } from "@sheaf/protocol";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { MemoryFiles } from "../storage/files/memory-files.ts";
import { LateFiles } from "../storage/files/testing/late-files.ts";
import type { SegmentFiles } from "../storage/files/segment-files.ts";
import { listBits } from "./bits.ts";
import { BLOCK_DOCS } from "./block-docs.ts";
import { gaussOf, randomOf } from "./dense/testing/data-sets.ts";
import { openSegmentFile, writeSegmentFile } from "./files/segment-file.ts";
import type { SegmentRow } from "./mutable-segment.ts";
import type { LookupSegment } from "./segment.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { mutableSegment, planOf, sealedSegment, withCodes } from "./testing/sealed-segments.ts";
import { TRIGRAM_BUCKETS } from "./trigrams/trigrams.ts";
import { containing } from "./trigrams/trigram-query.ts";
import { runSteps } from "../storage/steps.ts";

const DIMENSION = 16;
const ROWS = 2 * BLOCK_DOCS + 128;

const random = randomOf(3);
const gauss = gaussOf(random);
const rows = Array.from({ length: ROWS }, (_, i): SegmentRow => {
  const indices = Uint32Array.of(i % 3, 10 + (i % 700));
  const sparse: SparseVector = { indices, values: Float32Array.of(1, i) };
  return {
    offset: 5 * ((i * 7) % ROWS),
    sequence: i + 100,
    id: `r${i} é`,
    document: i % 4 === 0 ? null : `the word${i % 60} of ${i}`,
    metadata:
      i % 5 === 0
        ? null
        : new Map<string, number | string>([
            ["n", i % 50],
            ["text", `t${i}`],
          ]),
    vector: new Float32Array(DIMENSION).map(() => gauss()),
    sparse: i % 6 === 0 ? new Map() : new Map([["terms", sparse]]),
  };
});

const half = ROWS / 2;
const folder = mkdtempSync(join(tmpdir(), "sheaf-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let reads = 0;

async function inFile(files: SegmentFiles): Promise<LookupSegment> {
  const { segment } = sealedSegment([withCodes(mutableSegment(rows, ROWS))]);
  const file = await writeSegmentFile(files, "a.seg", segment);
  const opened = await openSegmentFile(files, file, {
    ...{ id: 2, space: "ip", dimension: DIMENSION, plan: planOf("ip") },
  });
  await opened.prepare({
    dense: true,
    docs: "lookup",
    postings: ["terms"],
    columns: ["n"],
    trigrams: Array.from({ length: TRIGRAM_BUCKETS }, (_, bucket) => bucket),
    metadata: Array.from({ length: opened.capacity }, (_, docId) => docId),
  });
  return opened;
}

const kinds: readonly (readonly [string, () => LookupSegment | Promise<LookupSegment>])[] = [
  ["mutable", () => mutableSegment(rows, ROWS)],
  ["mutable, with codes", () => withCodes(mutableSegment(rows, ROWS)).segment],
  ["sealed", () => sealedSegment([withCodes(mutableSegment(rows, ROWS))]).segment],
  [
    "sealed, of several",
    () =>
      sealedSegment([
        withCodes(mutableSegment(rows.slice(0, half), half)),
        withCodes(mutableSegment(rows.slice(half), half)),
      ]).segment,
  ],
  ["sealed anew", () => sealedSegment([sealedSegment([withCodes(mutableSegment(rows, ROWS))])]).segment],
  ["a file in a folder", () => inFile(new FolderFiles(folder))],
  ["a file in memory", () => inFile(new MemoryFiles())],
  ["a file that is late", () => inFile(new LateFiles(new MemoryFiles()))],
  [
    "a file that is partly late",
    () => inFile(new LateFiles(new MemoryFiles(), { isLocal: () => reads++ % 2 === 0 })),
  ],
];

describe.each(kinds)("a segment (%s)", (_, make) => {
  let segment: LookupSegment;
  let docIds: number[];
  beforeAll(async () => {
    segment = await make();
    docIds = rows.map(({ id }) => segment.docOfId(id));
  });

  it("has every row once, found by id and offset", () => {
    expect(new Set(docIds).size).toBe(ROWS);
    expect(segment.capacity).toBeGreaterThanOrEqual(ROWS);
    for (const [i, { id, offset, sequence }] of rows.entries()) {
      const docId = docIds[i]!;
      expect(segment.idAt(docId)).toBe(id);
      expect([segment.offsets[docId], segment.sequences[docId]]).toStrictEqual([offset, sequence]);
      expect(segment.docOfOffset(offset)).toBe(docId);
    }
    expect([segment.docOfId("not there"), segment.docOfOffset(1)]).toStrictEqual([-1, -1]);
    expect(segment.minOffset).toBe(0);
  });

  it("has the metadata of its rows, and columns of it", () => {
    const found = new Set<number>();
    for (const [i, block] of segment.blocks.entries()) {
      const { columns } = block;
      expect(columns.rows).toBe(block.metadata.length);
      const query = { type: "equal", values: new Set([7]) } as const;
      for (const row of listBits(runSteps(columns.column("n"))!.select(query).bits()))
        found.add(i * BLOCK_DOCS + row);
    }
    for (const [i, { metadata }] of rows.entries()) {
      const docId = docIds[i]!;
      const block = segment.blocks[Math.floor(docId / BLOCK_DOCS)]!;
      expect(block.metadata.get(docId % BLOCK_DOCS)).toStrictEqual(metadata);
      expect(found.has(docId)).toBe(metadata?.get("n") === 7);
    }
  });

  it("rules out no document that has a text, and leaves few others", () => {
    let left = 0;
    const possible = segment.blocks.map(
      (block) => new Set(listBits(block.signatures.having(containing("word59 ")))),
    );
    for (const [i, { document }] of rows.entries()) {
      const docId = docIds[i]!;
      const isLeft = possible[Math.floor(docId / BLOCK_DOCS)]!.has(docId % BLOCK_DOCS);
      left += Number(isLeft);
      if (typeof document === "string" && document.includes("word59 ")) expect(isLeft).toBe(true);
    }
    expect(left).toBeLessThan(ROWS / 20);
  });

  it("counts and adds up the same postings", () => {
    const postings = segment.postings("terms")!;
    const counts = new Map<number, number>();
    const sums = new Map<number, number>();
    const terms = Uint32Array.of(1, 10, 55, 709);
    expect(postings.tails).toEqual([]);
    for (const { block, firstDoc } of postings.blocks) {
      for (const [i, count] of block.sums.count(terms, null).entries())
        counts.set(terms[i]!, (counts.get(terms[i]!) ?? 0) + count);
      block.sums.add({ terms, weights: Float32Array.of(1, 1, 1, 1), saturation: null });
      const all = new Uint32Array(block.rows / 32).fill(0xffff_ffff);
      block.sums.collect(all, { k: ROWS, bound: Number.NaN }, (row, distance) => {
        sums.set(firstDoc + row, Math.fround(1 - distance));
      });
    }
    expect(segment.postings("others")).toBeUndefined();
    const expected = new Map([...terms].map((term) => [term, 0]));
    for (const [i, { sparse }] of rows.entries()) {
      const { indices, values } = sparse.get("terms") ?? { indices: [], values: [] };
      let sum: number | undefined;
      for (const [at, term] of indices.entries()) {
        if (!expected.has(term)) continue;
        expected.set(term, expected.get(term)! + 1);
        sum = (sum ?? 0) + values[at]!;
      }
      const found = sums.get(docIds[i]!);
      expect(found === undefined).toBe(sum === undefined);
      if (sum !== undefined) expect(found).toBeCloseTo(sum, 2);
    }
    expect(counts).toStrictEqual(expected);
  });

  it("has the vector of every row to the bit, in memory or in its codes", () => {
    const padded = new Float32Array(DIMENSION);
    for (const [i, { vector }] of rows.entries()) {
      const docId = docIds[i]!;
      const held = segment.vectors.at(docId);
      const { segment: dense } = segment.vectors.search ?? { segment: null };
      const isRead = held !== null || dense!.readVector(docId, padded);
      // Of a file that is late the store is asked.
      expect(isRead || dense!.source?.isLocal === false).toBe(true);
      if (!isRead) continue;
      expect(held ?? padded).toStrictEqual(vector);
    }
  });
});

describe("a segment that is written", () => {
  it("has the rows that lived when it was begun, of which those live that still do", () => {
    const one = withCodes(mutableSegment(rows.slice(0, half), half));
    const dead = rows.slice(0, 100).map((_, docId) => docId);
    for (const docId of dead.slice(0, 50)) one.live[docId >>> 5]! &= ~(1 << (docId & 31));
    const writer = new SegmentWriter([one], {
      id: 2,
      sparseKeys: [],
      readVector: () => null,
      keep: () => "none",
    });
    for (let slices = 0; slices < 20; slices++) writer.step();
    for (const docId of dead.slice(50)) one.live[docId >>> 5]! &= ~(1 << (docId & 31));
    let segment: LookupSegment | undefined;
    while (segment === undefined) segment = writer.step();
    const ids = listBits(writer.liveDocs()).map((docId) => segment.idAt(docId));
    expect(ids.toSorted()).toStrictEqual(
      rows
        .slice(100, half)
        .map(({ id }) => id)
        .toSorted(),
    );
    expect(dead.map((i) => segment.docOfId(rows[i]!.id) >= 0)).toStrictEqual(dead.map((i) => i >= 50));
    expect(segment.vectors.search?.segment.hasRows).toBe(false);
  });
});

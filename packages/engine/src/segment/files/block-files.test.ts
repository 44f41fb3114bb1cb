import type { Metadata } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { type SectionReader, openSections } from "../../storage/files/section-reader.ts";
import { type SectionWriter, writeSections } from "../../storage/files/section-writer.ts";
import { DataAbsent } from "../../storage/data-absent.ts";
import { LateFiles } from "../../storage/files/testing/late-files.ts";
import { runSteps } from "../../storage/steps.ts";
import { BLOCK_DOCS } from "../block-docs.ts";
import { MemoryBlock } from "../memory-block.ts";
import { arbitraryKey, arbitraryMetadata } from "../testing/arbitrary-metadata.ts";
import { expectSameColumns, expectSameRows, expectSameSignatures } from "../testing/same-block.ts";
import { containing } from "../trigrams/trigram-query.ts";
import { type FileBlocks, openBlocks } from "./open-blocks.ts";
import { writeBlocks } from "./write-blocks.ts";

interface Row {
  readonly document: string | null;
  readonly metadata: Metadata | null;
}

/** Filled up to a multiple of 32. */
function blocksOf(rows: readonly Row[]): {
  readonly blocks: readonly MemoryBlock[];
  readonly capacity: number;
} {
  const capacity = Math.ceil(rows.length / 32) * 32;
  const blocks = Array.from({ length: Math.ceil(capacity / BLOCK_DOCS) }, () => new MemoryBlock());
  for (let docId = 0; docId < capacity; docId++) {
    const block = blocks[Math.floor(docId / BLOCK_DOCS)]!;
    block.signatures.add(docId % BLOCK_DOCS, rows[docId]?.document ?? null);
    runSteps(block.push(rows[docId]?.metadata ?? null));
  }
  blocks.at(-1)?.seal();
  return { blocks, capacity };
}

async function written(
  write: (writer: SectionWriter) => Promise<void>,
  files = new MemoryFiles(),
): Promise<SectionReader> {
  return openSections(files, await writeSections(files, "blocks.seg", write));
}

async function opened(
  rows: readonly Row[],
): Promise<{ readonly memory: readonly MemoryBlock[]; readonly file: FileBlocks }> {
  const { blocks, capacity } = blocksOf(rows);
  const reader = await written((writer) => writeBlocks(writer, blocks));
  return { memory: blocks, file: await openBlocks(reader, capacity) };
}

const documents = fc.option(
  fc.string({ unit: fc.constantFrom("a", "b", " ", "é", "\ud800"), maxLength: 30 }),
);

describe("blocks in a file", () => {
  it("have the same rows and signatures as those in memory", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ document: documents, metadata: arbitraryMetadata }), {
          minLength: 1,
          maxLength: 50,
        }),
        fc.array(arbitraryKey),
        async (rows, keys) => {
          const { memory, file } = await opened(rows);
          expect(file.blocks).toHaveLength(memory.length);
          for (const [i, block] of file.blocks.entries()) {
            const twin = memory[i]!;
            expectSameRows(block, twin, keys);
            expectSameColumns(
              block,
              twin,
              rows.flatMap(({ metadata }) => [...(metadata?.keys() ?? []), ...keys]),
            );
            expectSameSignatures(block, twin, ["", "a", "ab a", "é a", "bbb"]);
          }
        },
      ),
    );
  });

  it("are read when they are asked for, over several blocks", async () => {
    const rows = Array.from({ length: 2 * BLOCK_DOCS + 100 }, (_, i) => ({
      document: i % 3 === 0 ? null : `the word${i % 100} of ${i}`,
      metadata:
        i % 5 === 0
          ? null
          : new Map<string, string | bigint>([
              ["n", BigInt(i)],
              [`key${i}`, "x".repeat(i % 200)],
            ]),
    }));
    const { memory, file } = await opened(rows);
    for (const [docId, { metadata }] of rows.entries())
      expect(file.blocks[Math.floor(docId / BLOCK_DOCS)]!.metadata.get(docId % BLOCK_DOCS)).toStrictEqual(
        metadata,
      );
    for (const [i, block] of file.blocks.entries()) {
      expect([...block.columns.keys]).toEqual([]);
      expect(block.columns.peek("n")).toBeUndefined();
      expectSameColumns(block, memory[i]!, ["n", "key17", "key4711", "key8200", "absent"]);
      expect([...block.columns.keys].toSorted()).toEqual(["absent", "key17", "key4711", "key8200", "n"]);
    }
    const query = containing("word17 of");
    for (const [i, block] of memory.entries())
      expect(file.blocks[i]!.signatures.having(query)).toStrictEqual(block.signatures.having(query));
  });

  it("are prepared where files are late", async () => {
    const metadata = new Map([["a", Float64Array.from({ length: 2_000 }, (_, i) => i)]]);
    const { blocks, capacity } = blocksOf([{ document: "some words", metadata }]);
    const files = new MemoryFiles();
    const identity = await writeSections(files, "late.seg", (writer) => writeBlocks(writer, blocks));
    const reader = await openSections(new LateFiles(files), identity);
    const {
      blocks: [block],
      prepare,
    } = await openBlocks(reader, capacity).then((file) => ({
      blocks: file.blocks,
      prepare: file.prepare.bind(file),
    }));
    expect(() => block!.metadata.get(0)).toThrow(DataAbsent);
    const query = containing("words");
    await prepare({ columns: ["a", "b"], docIds: [0], trigrams: query.all });
    expectSameColumns(block!, blocks[0]!, ["a", "b"]);
    expect(block!.metadata.get(0)).toStrictEqual(metadata);
    expect(block!.signatures.having(query)[0]).toBe(1);
  });
});

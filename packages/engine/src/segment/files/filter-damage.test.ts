/** Files whose checksums fit and whose numbers lie: whatever they say, a reader stays within them. */
import { describe, expect, it } from "vitest";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import { type SectionReader, openSections } from "../../storage/files/section-reader.ts";
import { writeSections } from "../../storage/files/section-writer.ts";
import { randomOf } from "../dense/testing/data-sets.ts";
import { containing } from "../trigrams/trigram-query.ts";
import { openBlocks } from "./open-blocks.ts";
import { openPostings } from "./open-postings.ts";
import { GOLDEN_CAPACITY, GOLDEN_FILTERS, writeGoldenFilters } from "./testing/golden-filters.ts";
import { runSteps } from "../../storage/steps.ts";

/** Bytes of a row, by section; 0: a stream. */
const SECTIONS = {
  cells: 4_088,
  columns: 4_088,
  trigrams: GOLDEN_CAPACITY / 8,
  "block-places": 0,
  postings: 0,
  "posting-keys": 0,
} as const;
type Section = keyof typeof SECTIONS;
const LIES = 150;

function content(reader: SectionReader, name: Section): Buffer {
  const rowBytes = SECTIONS[name];
  const section = rowBytes === 0 ? reader.stream(name) : reader.rows(name, rowBytes);
  const bytes = Buffer.alloc("count" in section ? section.count * rowBytes : section.length);
  section.tryRead(bytes, 0);
  return bytes;
}

async function rewritten(contents: ReadonlyMap<Section, Buffer>): Promise<SectionReader> {
  const files = new MemoryFiles();
  const identity = await writeSections(files, GOLDEN_FILTERS, async (writer) => {
    for (const [name, bytes] of contents) {
      if (SECTIONS[name] === 0) await writer.stream(name);
      else await writer.rows(name, SECTIONS[name]);
      await writer.write(bytes);
    }
  });
  return openSections(files, identity);
}

/** The damage that was found by reading all that there is. */
async function readAll(reader: SectionReader): Promise<readonly SegmentDamaged[]> {
  const found: SegmentDamaged[] = [];
  const attempt = async (read: () => void | Promise<void>): Promise<void> => {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof SegmentDamaged)) throw error;
      expect(error.file).toBe(GOLDEN_FILTERS);
      expect(error.section).not.toBeNull();
      found.push(error);
    }
  };
  await attempt(async () => {
    const { blocks } = await openBlocks(reader, GOLDEN_CAPACITY);
    for (const { metadata, columns, signatures } of blocks) {
      for (let row = 0; row < metadata.length; row++) {
        await attempt(() => void metadata.get(row));
        await attempt(() => void metadata.value(row, "größe 4 \ud800"));
      }
      for (const key of [
        "common",
        "größe 0 \ud800",
        "größe 1 \ud800",
        "größe 3 \ud800",
        "key 250",
        "absent",
      ]) {
        for (const value of ["a", 1, true, 300])
          await attempt(() => void runSteps(columns.column(key))!.select({ type: "member", value }).bits());
        const values = new Set<string | number>(["a", "tag", 1, 2 ** 60, ...Array(100).keys()]);
        await attempt(() => void runSteps(columns.column(key))!.select({ type: "equal", values }).bits());
        await attempt(
          () =>
            void runSteps(columns.column(key))!.select({ type: "range", operator: "$lt", bound: 9 }).bits(),
        );
      }
      await attempt(() => void signatures.having(containing("quick")));
    }
  });
  await attempt(async () => {
    for (const postings of (await openPostings(reader, GOLDEN_CAPACITY)).byKey.values())
      await attempt(() => {
        for (const { block } of postings.blocks) {
          block.sums.count(Uint32Array.of(1, 7, 4_294_967_295), null);
          block.sums.add({ terms: Uint32Array.of(1, 7), weights: Float32Array.of(1, 2), saturation: null });
          block.close();
        }
      });
  });
  return found;
}

describe("a file that lies", () => {
  it.each(Object.keys(SECTIONS) as Section[])("in %s leads nowhere", async (section) => {
    const files = new MemoryFiles();
    const reader = await openSections(files, await writeGoldenFilters(files));
    const contents = new Map(
      (Object.keys(SECTIONS) as Section[]).map((name) => [name, content(reader, name)]),
    );
    expect(await readAll(await rewritten(contents))).toEqual([]);
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = randomOf(seed);
    let damaged = 0;
    for (let lie = 0; lie < LIES; lie++) {
      const bytes = Buffer.from(contents.get(section)!);
      // Most numbers that lead somewhere are at the beginning.
      const at = Math.floor(random() ** 2 * bytes.length);
      const value = [0, 1, 0x7f, 0x80, 0xff, bytes[at]! ^ (1 << Math.floor(random() * 8))][
        Math.floor(random() * 6)
      ]!;
      bytes[at] = value;
      try {
        damaged +=
          (await readAll(await rewritten(new Map([...contents, [section, bytes]])))).length > 0 ? 1 : 0;
      } catch (error) {
        throw new Error(`seed ${seed}: byte ${at} is ${value}`, { cause: error });
      }
    }
    // Values, signatures and weights may be any.
    if (section !== "trigrams") expect(damaged).toBeGreaterThan(0);
  });

  it("with another length is damaged", async () => {
    const files = new MemoryFiles();
    const reader = await openSections(files, await writeGoldenFilters(files));
    for (const section of Object.keys(SECTIONS) as Section[]) {
      const contents = new Map(
        (Object.keys(SECTIONS) as Section[]).map((name) => [name, content(reader, name)]),
      );
      const bytes = contents.get(section)!;
      contents.set(section, bytes.subarray(0, bytes.length - Math.max(8, SECTIONS[section])));
      const found = await readAll(await rewritten(contents));
      expect(found.length, section).toBeGreaterThan(0);
    }
  });
});

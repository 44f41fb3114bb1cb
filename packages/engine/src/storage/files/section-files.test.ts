/** What is written is what is read, in any pieces, at once and late. */
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { crc32c } from "../values/crc32c.ts";
import { FolderFiles } from "./folder-files.ts";
import { CHUNK_BYTES, MAX_ROW_BYTES, encodeFooter } from "./footer.ts";
import { MemoryFiles } from "./memory-files.ts";
import type { SegmentFileWriter, SegmentFiles } from "./segment-files.ts";
import { openAnySections, openSections } from "./section-reader.ts";
import { writeSections } from "./section-writer.ts";
import { countedFiles } from "./testing/counted-files.ts";
import { LateFiles } from "./testing/late-files.ts";

const PLACES: readonly (readonly [string, () => SegmentFiles])[] = [
  ["a folder", () => new FolderFiles(temporaryFolder())],
  ["memory", () => new MemoryFiles()],
  ["files that answer late", () => new LateFiles(new MemoryFiles())],
];

const LENGTHS = fc.oneof(
  fc.nat(300),
  fc.constantFrom(4_095, 4_096, 4_097, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES),
  fc.integer({ min: 1_000_000, max: 1_200_000 }),
);
const SECTIONS = fc.array(
  fc.record({
    length: LENGTHS,
    /** 0: a stream. */
    rowBytes: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5_000 }), fc.constant(MAX_ROW_BYTES)),
    /** Bytes or rows of each write. */
    step: fc.integer({ min: 1_000, max: 200_000 }),
    cuts: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(100_000)), { maxLength: 6 }),
  }),
  { maxLength: 5 },
);

function content(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0, state = seed + 1; i < length; i++) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

describe.each(PLACES)("index files in %s", (_place, open) => {
  it("give back what was written, in any pieces", async () => {
    await fc.assert(
      fc.asyncProperty(SECTIONS, async (sections) => {
        const files = open();
        const contents = sections.map(({ length, rowBytes }, i) =>
          content(rowBytes === 0 ? length : Math.floor(length / rowBytes) * rowBytes, i),
        );
        const identity = await writeSections(files, "a.seg", async (writer) => {
          for (const [i, { rowBytes, step }] of sections.entries()) {
            if (rowBytes === 0) await writer.stream(`section ${i}`);
            else await writer.rows(`section ${i}`, rowBytes);
            const bytes = contents[i]!;
            const piece = rowBytes === 0 ? step : rowBytes * Math.ceil(step / rowBytes);
            for (let at = 0; at < bytes.length; at += piece)
              await writer.write(bytes.subarray(at, at + piece));
          }
        });
        const reader = await openSections(files, identity);
        let verified = 0;
        for await (const bytes of reader.verify()) verified += bytes;
        expect(verified).toBeGreaterThanOrEqual(contents.reduce((sum, { length }) => sum + length, 0));
        for (const [i, { rowBytes, cuts }] of sections.entries()) {
          const unit = rowBytes || 1;
          const section =
            rowBytes === 0 ? reader.stream(`section ${i}`) : reader.rows(`section ${i}`, rowBytes);
          const units = contents[i]!.length / unit;
          for (const [share, length] of [[0, Infinity] as const, ...cuts]) {
            const from = Math.floor(share * units);
            const to = Math.min(from + Math.ceil(length / unit), units);
            const into = new Uint8Array((to - from) * unit);
            if (!section.tryRead(into, from)) await section.read(into, from);
            expect(Buffer.compare(into, contents[i]!.subarray(from * unit, to * unit))).toBe(0);
          }
        }
        await reader.close();
        await files.remove("a.seg");
      }),
      { numRuns: 25 },
    );
  });

  it("name a section that is missing, or of another kind", async () => {
    const files = open();
    const identity = await writeSections(files, "a.seg", (writer) => writer.rows("bf16", 8));
    const reader = await openSections(files, identity);
    expect(() => reader.stream("lists")).toThrow("a.seg, section lists: it is missing, a stream is expected");
    expect(() => reader.stream("bf16")).toThrow("a.seg, section bf16: it is of another kind");
    expect(() => reader.rows("bf16", 9)).toThrow("one of rows of 9 bytes is expected");
    expect(reader.rows("bf16", 8).count).toBe(0);
    expect(() => reader.rows("bf16", 8).tryRead(new Uint8Array(8), 0)).toThrow(
      "section bf16: it ends at 0, and should go on to 1 at least",
    );
    await reader.close();
  });
});

it("rows that lie near each other are read together", async () => {
  const [rowBytes, count] = [1_000, 500];
  const bytes = content(rowBytes * count, 1);
  const read: number[] = [];
  const files = countedFiles(new MemoryFiles(), (length) => read.push(length));
  const identity = await writeSections(files, "a.seg", async (writer) => {
    await writer.rows("r", rowBytes);
    await writer.write(bytes);
  });
  const section = (await openSections(files, identity)).rows("r", rowBytes);
  const rowsAre = (rows: readonly number[], reads: readonly number[]): void => {
    const into = new Uint8Array(rows.length * rowBytes);
    read.length = 0;
    expect(section.tryReadEach(into, Uint32Array.from(rows))).toBe(true);
    expect(read.map((length) => length / (rowBytes + 4))).toStrictEqual(reads);
    for (const [i, row] of rows.entries())
      expect(
        Buffer.compare(
          into.subarray(i * rowBytes, (i + 1) * rowBytes),
          bytes.subarray(row * rowBytes, (row + 1) * rowBytes),
        ),
      ).toBe(0);
  };
  rowsAre([], []);
  rowsAre([7], [1]);
  rowsAre([3, 4, 9, 18], [16]);
  rowsAre([3, 4, 14, 499], [2, 1, 1]);
  // No more than kernel memory holds.
  rowsAre(
    Array.from({ length: 100 }, (_, i) => 2 * i),
    [65, 65, 65, 1],
  );
  expect(() => section.tryReadEach(new Uint8Array(rowBytes), Uint32Array.of(count))).toThrow(
    "should go on to 501",
  );
});

describe("index files", () => {
  it("are written with one chunk in memory, whatever their size", async () => {
    const lengths: number[] = [];
    const sink: SegmentFileWriter = {
      write: async (bytes) => void lengths.push(bytes.length),
      commit: async () => {},
      abort: async () => {},
    };
    const files = Object.assign(new MemoryFiles(), { create: async () => sink });
    await writeSections(files, "a.seg", async (writer) => {
      await writer.stream("s");
      for (let i = 0; i < 10; i++) await writer.write(new Uint8Array(1_000_000));
      await writer.rows("r", 1_000);
      await writer.write(new Uint8Array(10_000_000));
    });
    expect(Math.max(...lengths)).toBe(CHUNK_BYTES);
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(20_000_000);
  });

  it("refuse what no reader could read", async () => {
    const files = new MemoryFiles();
    const write = (body: Parameters<typeof writeSections>[2]) => writeSections(files, "a.seg", body);
    await expect(write((writer) => writer.write(new Uint8Array(1)))).rejects.toThrow("no section was begun");
    await expect(write((writer) => writer.rows("r", 0))).rejects.toThrow("rows of 0 bytes");
    await expect(write((writer) => writer.rows("r", MAX_ROW_BYTES + 1))).rejects.toThrow(
      "rows of 65533 bytes",
    );
    await expect(write((writer) => writer.stream(""))).rejects.toThrow("a name of 0 bytes");
    await expect(write((writer) => writer.stream("x".repeat(513)))).rejects.toThrow("a name of 513 bytes");
    const twice = write(async (writer) => {
      await writer.stream("s");
      await writer.rows("s", 1);
    });
    await expect(twice).rejects.toThrow("a second section s");
    const partial = write(async (writer) => {
      await writer.rows("r", 8);
      await writer.write(new Uint8Array(12));
    });
    await expect(partial).rejects.toThrow("part of a row");
    expect(await files.list()).toEqual([]);
  });

  it("fail as their files do, and go on when these answer again", async () => {
    const kept = new MemoryFiles();
    const identity = await writeSections(kept, "a.seg", async (writer) => {
      await writer.stream("s");
      await writer.write(content(200_000, 1));
    });
    let failure: Error | null = new Error("connection reset");
    const files = new LateFiles(kept, { failure: () => failure });
    await expect(openSections(files, identity)).rejects.toThrow("connection reset");
    failure = null;
    const reader = await openSections(files, identity);
    const into = new Uint8Array(100_000);
    failure = new Error("connection reset");
    await expect(reader.stream("s").read(into, 0)).rejects.toThrow("connection reset");
    failure = null;
    await reader.stream("s").read(into, 50_000);
    expect(Buffer.compare(into, content(200_000, 1).subarray(50_000, 150_000))).toBe(0);
    const stop = new AbortController();
    const late = reader.stream("s").read(into.fill(0), 0, { signal: stop.signal });
    stop.abort(new Error("gone"));
    await expect(late).rejects.toMatchObject({ code: "cancelled" });
    expect(into.every((byte) => byte === 0)).toBe(true);
    await reader.close();
  });

  it("are read beyond 4 GiB", async () => {
    const folder = temporaryFolder();
    // A section of zeros that takes no room on disk, and one behind it.
    const length = 2 ** 32 + CHUNK_BYTES;
    const zeros = crc32c(new Uint8Array(CHUNK_BYTES));
    const tail = content(1_000, 1);
    const footer = encodeFooter({
      features: [],
      sections: [
        {
          ...{ kind: "stream", name: "zeros", offset: 0, length },
          checksums: new Uint32Array(length / CHUNK_BYTES).fill(zeros),
        },
        {
          kind: "stream",
          name: "behind",
          offset: length,
          length: 1_000,
          checksums: Uint32Array.of(crc32c(tail)),
        },
      ],
    });
    const file = openSync(join(folder, "a.seg"), "w");
    ftruncateSync(file, length);
    writeSync(file, Buffer.concat([tail, footer]), 0, null, length);
    closeSync(file);
    const files = new FolderFiles(folder);
    for (const place of [files, new LateFiles(files)]) {
      const reader = (await openAnySections(place, "a.seg"))!;
      expect(reader.size).toBeGreaterThan(2 ** 32);
      const behind = new Uint8Array(100);
      const section = reader.stream("behind");
      if (!section.tryRead(behind, 900)) await section.read(behind, 900);
      expect(behind).toEqual(tail.subarray(900));
      const end = new Uint8Array(100).fill(1);
      const stream = reader.stream("zeros");
      if (!stream.tryRead(end, length - 100)) await stream.read(end, length - 100);
      expect(end).toEqual(new Uint8Array(100));
      await reader.close();
    }
  });
});

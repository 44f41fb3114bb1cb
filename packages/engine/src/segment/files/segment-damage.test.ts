/** A segment's file with any byte changed gives the same answers, or says that it is damaged. */
import { isDeepStrictEqual } from "node:util";
import { Cancellation, SheafError, type SparseVector } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { TRAILER_BYTES, decodeFooter, decodeTrailer } from "../../storage/files/footer.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { FileIdentity } from "../../storage/files/section-writer.ts";
import { runSteps } from "../../storage/steps.ts";
import { searchDense } from "../dense/search-dense.ts";
import { BLOCK_DOCS } from "../block-docs.ts";
import { hasBit, listBits } from "../bits.ts";
import type { SegmentRow } from "../mutable-segment.ts";
import type { SealedSegment } from "../sealed-segment.ts";
import { mutableSegment, planOf, sealedSegment, withCodes } from "../testing/sealed-segments.ts";
import { openSegmentFile, writeSegmentFile } from "./segment-file.ts";

const DIMENSION = 8;
const ROWS = 64;
const NAME = "a.seg";
/** Of these not every byte is changed: `section-damage.test.ts` changes each byte of sections of both kinds. */
const LONG_SECTION = 1_000;
const STEP = 13;

const rows = Array.from({ length: ROWS }, (_, i): SegmentRow => {
  const terms: SparseVector = { indices: Uint32Array.of(i % 3), values: Float32Array.of(i + 1) };
  return {
    offset: 7 * i + 2,
    sequence: i + 1,
    id: `id ${i}`,
    document: null,
    metadata:
      i % 4 === 0 ? null : new Map<string, string | number>(i % 2 === 0 ? [["n", i]] : [["text", `t${i}`]]),
    vector: new Float32Array(DIMENSION).map((_x, j) => Math.sin(i * (j + 1))),
    sparse: new Map([["terms", terms]]),
  };
});

const bytes = new Map<string, Uint8Array>();
const { segment: written } = sealedSegment([withCodes(mutableSegment(rows, ROWS))]);
const identity = await writeSegmentFile(new MemoryFiles(bytes), NAME, written);
const sound = bytes.get(NAME)!;

function open(changed: Uint8Array, file: FileIdentity): Promise<SealedSegment> {
  return openSegmentFile(new MemoryFiles(new Map([[NAME, changed]])), file, {
    ...{ id: 1, space: "ip", dimension: DIMENSION, plan: planOf("ip"), kernels: "plain" },
  });
}

/** All that a segment is ever asked for. */
function everythingOf(segment: SealedSegment): unknown {
  const dense = segment.vectors.search.segment;
  const slots = Uint32Array.from(listBits(dense.placed));
  const part = {
    search: segment.vectors.search,
    base: 0,
    docs: dense.placed,
    count: ROWS,
    slots: () => slots,
  };
  const query = new Float32Array(DIMENSION).fill(0.5);
  const found = [true, false].map((exact) => {
    const request = { query, k: 3, exact, size: ROWS, distanceAt: () => Number.NaN };
    return runSteps(searchDense([part], request));
  });
  // The third way, which a file that is small never takes by itself, and what is loaded behind searches.
  runSteps(dense.load(["records", "magnitudes"]));
  const { memory, at, width } = dense.layout;
  const vectors = [...slots].map((slot) => {
    const vector = new Float32Array(width);
    expect(dense.readVector(slot, vector)).toBe(true);
    return vector;
  });
  const ids = [...slots].map((slot) => segment.idAt(slot));
  return {
    found,
    vectors,
    ids,
    records: memory.u8(at.records, segment.capacity * 32).slice(),
    magnitudes: memory.u8(at.magnitudes, dense.magnitudeBytes).slice(),
    offsets: [...segment.offsets],
    sequences: [...segment.sequences],
    byId: ids.map((id) => segment.docOfId(id)),
    byOffset: rows.map(({ offset }) => segment.docOfOffset(offset)),
    order: [...segment.docsByOffset],
    minOffset: segment.minOffset,
    metadata: [...slots].map((slot) =>
      segment.blocks[Math.floor(slot / BLOCK_DOCS)]!.metadata.get(slot % BLOCK_DOCS),
    ),
    columns: segment.blocks.map(({ columns }) =>
      runSteps(columns.column("n"))!
        .select({ type: "equal", values: new Set([6]) })
        .bits(),
    ),
    postings: segment.postings("terms")!.blocks.map(({ block }) => ({ ...block.lists })),
    tables: [dense.lists, dense.listOfBlock, dense.lengths, dense.losses, dense.reach, dense.factors.slice()],
  };
}

const expected = everythingOf(await open(sound, identity));

/** Why it cannot be used; `null`: it gives what it should. */
async function damageOf(changed: Uint8Array): Promise<SegmentDamaged | null> {
  try {
    const segment = await open(changed, identity);
    expect(isDeepStrictEqual(everythingOf(segment), expected)).toBe(true);
    return null;
  } catch (error) {
    if (!(error instanceof SegmentDamaged)) throw error;
    expect(error.file).toBe(NAME);
    return error;
  }
}

describe("the file of a segment", () => {
  it("has the same in it as the segment in memory", () => {
    const { ids } = expected as { readonly ids: readonly string[] };
    expect(ids.toSorted()).toStrictEqual(rows.map(({ id }) => id).toSorted());
    expect(everythingOf(written)).toStrictEqual(expected);
  });

  it("is found to be damaged whichever byte is changed", async () => {
    const { footerBytes } = decodeTrailer(NAME, Buffer.from(sound), sound.length);
    const end = sound.length - TRAILER_BYTES - footerBytes;
    const { sections } = decodeFooter(NAME, Buffer.from(sound.subarray(end)), sound.length);
    const content = [...sections, { name: "footer", offset: end, length: sound.length - end }];
    for (const { name, offset, length } of content)
      for (let at = offset; at < offset + length; at += length > LONG_SECTION ? STEP : 1) {
        const changed = Uint8Array.from(sound);
        changed[at]! ^= at % 2 === 0 ? 0x01 : 0x80;
        const damage = await damageOf(changed);
        if (damage !== null) continue;
        // Vectors of slots that no row is in are never read.
        expect(["bf16", "residual"], `byte ${at - offset} of ${name}`).toContain(name);
        const { layout, placed } = written.vectors.search.segment;
        expect(hasBit(placed, Math.floor((at - offset) / (layout.width * 2 + 4)))).toBe(false);
      }
  }, 120_000);

  it("is found to be damaged wherever it ends, and where it is another one", async () => {
    for (let end = 0; end < sound.length; end += 611)
      expect(await damageOf(sound.slice(0, end)), `${end} bytes`).not.toBeNull();
    await expect(open(sound, { ...identity, crc: identity.crc ^ 1 })).rejects.toThrow(SegmentDamaged);
    await expect(open(sound, { ...identity, name: "b.seg" })).rejects.toThrow("it is missing");
  });

  it("is refused for vectors and keys that it does not have", async () => {
    const files = new MemoryFiles(new Map([[NAME, sound]]));
    const options = { id: 1, space: "ip", dimension: DIMENSION, plan: planOf("ip") } as const;
    for (const others of [
      { dimension: 9 },
      { space: "l2" } as const,
      { plan: { ...planOf("ip"), sparse: [{ ...planOf("ip").sparse[0]!, key: "others" }] } },
    ])
      await expect(openSegmentFile(files, identity, { ...options, ...others })).rejects.toThrow(
        SegmentDamaged,
      );
  });

  it("is not there when writing it was ended", async () => {
    const files = new MemoryFiles();
    const signal = new Cancellation();
    signal.abort(new SheafError("unavailable", "it is being closed"));
    await expect(writeSegmentFile(files, NAME, written, { signal })).rejects.toThrow("it is being closed");
    expect(await files.list()).toEqual([]);
  });
});

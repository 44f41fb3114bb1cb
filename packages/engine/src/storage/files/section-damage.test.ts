/** Damage of any kind is found before a byte is used, or was proven not to matter. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32c } from "../values/crc32c.ts";
import { TRAILER_BYTES, decodeTrailer } from "./footer.ts";
import { MemoryFiles } from "./memory-files.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import { openAnySections, openSections } from "./section-reader.ts";
import { writeSections } from "./section-writer.ts";
import { SMALL_NAME, findDamage, smallSegment } from "./testing/small-segment.ts";

const { identity, bytes: sound } = await smallSegment();

function changed(change: (bytes: Buffer) => void, bytes: Uint8Array = sound): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
}

function filesWith(bytes: Uint8Array): MemoryFiles {
  return new MemoryFiles(new Map([[SMALL_NAME, bytes]]));
}

/** Makes the checksum of a changed footer fit. */
function sealed(bytes: Buffer): Buffer {
  const { footerBytes } = decodeTrailer(SMALL_NAME, bytes, bytes.length);
  const end = bytes.length - TRAILER_BYTES;
  const crc = crc32c(bytes, end + 8, end + 12, crc32c(bytes, end - footerBytes, end));
  bytes.writeUInt32LE(crc, end + 4);
  return bytes;
}

/** Where sections of the small segment begin. */
const PAGE = { lists: 0, factors: 4_096, bf16: 8_192, residual: 12_288 } as const;
const ROW_STRIDE = 16;

describe("a damaged index file", () => {
  it("is whole at first", async () => {
    expect(await findDamage(sound)).toEqual({ byVerifying: false, byReading: false });
    const reader = await openSections(filesWith(sound), identity);
    expect(reader.sections).toEqual(["lists", "blocks", "factors", "bf16", "residual"]);
    await reader.close();
  });

  it.each([0x01, 0xff])("is found whichever byte is changed (by %d)", async (mask) => {
    const unread: number[] = [];
    for (let at = 0; at < sound.length; at++) {
      const findings = await findDamage(changed((copy) => (copy[at]! ^= mask)));
      expect(findings.byVerifying, `byte ${at}`).toBe(true);
      if (!findings.byReading) unread.push(at);
    }
    // What no read notices is padding between sections.
    expect(unread.length).toBe(4_096 - 300 + (4_096 - 40) + (4_096 - 5 * ROW_STRIDE));
    expect(unread.every((at) => sound[at] === 0)).toBe(true);
  });

  it("is found wherever it ends", async () => {
    for (let length = 0; length < sound.length; length++) {
      const cut = filesWith(sound.subarray(0, length));
      await expect(openAnySections(cut, SMALL_NAME), `${length} bytes`).rejects.toThrow(SegmentDamaged);
    }
  });

  it("is found with bytes before, within or behind it", async () => {
    const more = Buffer.alloc(4_096);
    const parts = [
      [more, sound],
      [sound, more],
      [sound.subarray(0, 4_096), more, sound.subarray(4_096)],
      [sound, sound],
    ];
    for (const part of parts)
      await expect(openAnySections(filesWith(Buffer.concat(part)), SMALL_NAME)).rejects.toThrow(
        SegmentDamaged,
      );
  });

  it("names file and section", async () => {
    const reader = await openSections(filesWith(changed((copy) => (copy[PAGE.bf16 + 21]! ^= 4))), identity);
    const rows = reader.rows("bf16", 12);
    const into = new Uint8Array(12);
    expect(rows.tryRead(into, 0)).toBe(true);
    expect(() => rows.tryRead(into, 1)).toThrow(
      "index file is damaged: small.seg, section bf16: row 1: the checksum does not match",
    );
    expect(rows.tryRead(into, 2)).toBe(true);
    // Of those that are read together, what nobody wants is not looked at.
    const two = new Uint8Array(24);
    expect(rows.tryReadEach(two, Uint32Array.of(0, 2))).toBe(true);
    expect(() => rows.tryReadEach(two, Uint32Array.of(0, 1))).toThrow("row 1: the checksum does not match");
    await reader.close();
  });

  it("is found when two sections are swapped", async () => {
    const pages = [...Object.values(PAGE)];
    for (const one of pages) {
      for (const other of pages.filter((page) => page !== one)) {
        const swapped = changed((copy) => {
          copy.set(sound.subarray(one, one + 40), other);
          copy.set(sound.subarray(other, other + 40), one);
        });
        expect(await findDamage(swapped)).toEqual({ byVerifying: true, byReading: true });
      }
    }
  });

  it("is found when two rows are swapped, each with its checksum", async () => {
    const swapped = changed((copy) => {
      const [first, second] = [PAGE.bf16, PAGE.bf16 + ROW_STRIDE];
      copy.set(sound.subarray(first, second), second);
      copy.set(sound.subarray(second, second + ROW_STRIDE), first);
    });
    expect(await findDamage(swapped)).toEqual({ byVerifying: true, byReading: true });
  });

  it("is found by verifying when it has a row of another file of the same name", async () => {
    const kept = new Map<string, Uint8Array>();
    await writeSections(new MemoryFiles(kept), SMALL_NAME, async (writer) => {
      await writer.stream("lists");
      await writer.rows("bf16", 12);
      await writer.write(new Uint8Array(24));
    });
    const [row, other] = [PAGE.bf16 + ROW_STRIDE, ROW_STRIDE];
    const mixed = changed((copy) => copy.set(kept.get(SMALL_NAME)!.subarray(other, other + ROW_STRIDE), row));
    const reader = (await openAnySections(filesWith(mixed), SMALL_NAME))!;
    const into = new Uint8Array(12).fill(1);
    // Its own checksum fits, so only all of them together tell.
    expect(reader.rows("bf16", 12).tryRead(into, 1)).toBe(true);
    expect(into).toEqual(new Uint8Array(12));
    const verifying = async (): Promise<void> => {
      for await (const length of reader.verify()) expect(length).toBeGreaterThan(0);
    };
    await expect(verifying()).rejects.toThrow("section bf16: it has other rows than were written");
    await reader.close();
  });

  it("is found when it is another file, and when it is missing", async () => {
    const files = filesWith(sound);
    const other = await writeSections(files, "other.seg", (writer) => writer.stream("lists"));
    await expect(openSections(files, { ...other, name: SMALL_NAME })).rejects.toThrow("it is another file");
    await expect(openSections(files, { ...other, name: "gone.seg" })).rejects.toThrow(
      "gone.seg: it is missing",
    );
  });

  it("never asks for more than there is, whatever a directory says", async () => {
    const { footerBytes } = decodeTrailer(SMALL_NAME, sound, sound.length);
    const start = sound.length - TRAILER_BYTES - footerBytes;
    const positions = fc.integer({ min: start, max: sound.length - TRAILER_BYTES - 1 });
    const edits = fc.array(fc.tuple(positions, fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 8,
    });
    const outcomes = { refused: 0, found: 0, unread: 0 };
    await fc.assert(
      fc.asyncProperty(edits, async (list) => {
        const bytes = sealed(changed((copy) => list.forEach(([at, byte]) => (copy[at] = byte))));
        if (bytes.equals(sound)) return;
        try {
          const { byVerifying } = await findDamage(bytes);
          outcomes[byVerifying ? "found" : "unread"]++;
        } catch (error) {
          // A feature that is not known is refused, and that is no damage.
          expect(error).toMatchObject({ code: "collection_unavailable" });
          outcomes.refused++;
        }
      }),
      { numRuns: 3_000 },
    );
    expect(outcomes.found).toBeGreaterThan(1_000);
  });

  it("is refused by name where it needs what this version does not know", async () => {
    const { footerBytes } = decodeTrailer(SMALL_NAME, sound, sound.length);
    const start = sound.length - TRAILER_BYTES - footerBytes;
    const feature = Buffer.concat([Buffer.from([1, 0, 5, 0]), Buffer.from("turbo")]);
    const trailer = Buffer.from(sound.subarray(-TRAILER_BYTES));
    trailer.writeUInt32LE(footerBytes + feature.length - 2, 0);
    const parts = [sound.subarray(0, start), feature, sound.subarray(start + 2, -TRAILER_BYTES), trailer];
    const opening = openAnySections(filesWith(sealed(Buffer.concat(parts))), SMALL_NAME);
    await expect(opening).rejects.toThrow(
      'index file small.seg needs the feature "turbo", which this version of Sheaf cannot read',
    );
    await expect(opening).rejects.not.toBeInstanceOf(SegmentDamaged);
    const later = sealed(changed((copy) => copy.writeUInt32LE(2, copy.length - 8)));
    await expect(openAnySections(filesWith(later), SMALL_NAME)).rejects.toThrow("has version 2");
  });
});

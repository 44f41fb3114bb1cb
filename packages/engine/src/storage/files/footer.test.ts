/** Directories that no writer makes, with checksums that fit. */
import { expect, it } from "vitest";
import { crc32c } from "../values/crc32c.ts";
import {
  type RowsEntry,
  type StreamEntry,
  TRAILER_BYTES,
  decodeFooter,
  decodeTrailer,
  encodeFooter,
} from "./footer.ts";
import { SegmentDamaged } from "./segment-damaged.ts";

const STREAM: StreamEntry = { kind: "stream", name: "s", offset: 0, length: 0, checksums: new Uint32Array() };
const ROWS: RowsEntry = { kind: "rows", name: "r", offset: 0, length: 24, rowBytes: 8, seed: 1, checksum: 2 };
const FEATURES: readonly string[] = [];

/** Decodes a directory behind `before` bytes of sections. */
function decode(footer: Buffer, before: number): unknown {
  const size = before + footer.length;
  const { footerBytes } = decodeTrailer("a.seg", footer, size);
  expect(footerBytes + TRAILER_BYTES).toBe(footer.length);
  return decodeFooter("a.seg", footer, size);
}

/** Changes a directory, or its length, and makes the checksum fit. */
function sealed(footer: Buffer, change: (bytes: Buffer) => Buffer | void): Buffer {
  const parts = [
    Buffer.from(footer.subarray(0, -TRAILER_BYTES)),
    Buffer.from(footer.subarray(-TRAILER_BYTES)),
  ] as const;
  const body = change(parts[0]) ?? parts[0];
  parts[1].writeUInt32LE(body.length, 0);
  parts[1].writeUInt32LE(crc32c(parts[1], 8, 12, crc32c(body)), 4);
  return Buffer.concat([body, parts[1]]);
}

it("reads what it writes", () => {
  const sections = [
    ROWS,
    { ...STREAM, offset: 4_096, length: 70_000, checksums: Uint32Array.of(1, 0xffff_ffff) },
  ];
  const footer = { features: FEATURES, sections };
  expect(decode(encodeFooter(footer), 4_096 + 70_000)).toEqual(footer);
  expect(decode(encodeFooter({ features: FEATURES, sections: [] }), 0)).toEqual({
    features: [],
    sections: [],
  });
});

it.each([
  ["rows of no bytes", [{ ...ROWS, rowBytes: 0 }], 24, "section r has rows of 0 bytes"],
  ["rows that are too long", [{ ...ROWS, rowBytes: 65_533 }], 24, "section r has rows of 65533 bytes"],
  ["part of a row", [{ ...ROWS, length: 25 }], 25, "section r ends within a row"],
  ["a name twice", [STREAM, STREAM], 0, "two sections have the same name"],
  ["a section out of place", [{ ...ROWS, offset: 4_096 }], 4_120, "section r is out of place"],
  ["sections that overlap", [ROWS, { ...ROWS, name: "x" }], 24, "section x is out of place"],
  ["a section that is too short", [ROWS], 36, "its sections do not end where the directory begins"],
  ["a section that is too long", [ROWS], 12, "its sections do not end where the directory begins"],
  ["a place beyond all numbers", [{ ...STREAM, length: 2 ** 60 }], 0, "is no place in a file"],
  ["checksums that are missing", [{ ...STREAM, length: 2 ** 50 }], 0, "its directory ends too early"],
] as const)("refuses %s", (_what, sections, before, message) => {
  const footer = encodeFooter({ features: FEATURES, sections });
  expect(() => decode(footer, before)).toThrow(SegmentDamaged);
  expect(() => decode(footer, before)).toThrow(message);
});

it("refuses a directory with bytes left over, cut short, or of an unknown kind", () => {
  const sound = encodeFooter({ features: FEATURES, sections: [STREAM] });
  const more = sealed(sound, (body) => Buffer.concat([body, Buffer.alloc(3)]));
  expect(() => decode(more, 0)).toThrow("its directory has bytes left over");
  for (let length = 0; length < sound.length - TRAILER_BYTES; length++)
    expect(() =>
      decode(
        sealed(sound, (body) => body.subarray(0, length)),
        0,
      ),
    ).toThrow("its directory ends too early");
  const kind = sealed(sound, (body) => void body.writeUInt16LE(3, 6));
  expect(() => decode(kind, 0)).toThrow("section s is of unknown kind 3");
});

it.each([0xffff_ffff, 17 * 1024 * 1024, 100])(
  "refuses a directory of %d bytes before it is read",
  (bytes) => {
    const end = Buffer.from(encodeFooter({ features: FEATURES, sections: [] }).subarray(-TRAILER_BYTES));
    end.writeUInt32LE(bytes, 0);
    const size = bytes === 100 ? 115 : 2 ** 33;
    expect(() => decodeTrailer("a.seg", end, size)).toThrow(`a directory of ${bytes} bytes is not possible`);
  },
);

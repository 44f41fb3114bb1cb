import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { bitmapBytes, readDeadRows, writeDeadRows } from "./dead-rows.ts";
import { type Manifest, installManifest, readManifest, removeOlderManifests } from "./manifest.ts";
import { MemoryFiles } from "./memory-files.ts";
import { parseManifest } from "./parse-manifest.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import { writeFile } from "./segment-files.suite.ts";
import { writeSections } from "./section-writer.ts";
import { LateFiles } from "./testing/late-files.ts";

const LINEAGE = randomUUID();
let kept: Map<string, Uint8Array>;
let files: MemoryFiles;

beforeEach(() => {
  kept = new Map();
  files = new MemoryFiles(kept);
});

function manifest(n: number, fields: Partial<Manifest> = {}): Manifest {
  return {
    ...{
      n,
      lineage: LINEAGE,
      covers: { sequence: n * 10, nextOffset: n * 5, dimension: n === 0 ? null : 384 },
    },
    ...{ segments: [{ name: "a.seg", crc: 0xffff_ffff, rows: 20 }], deadRows: null },
    ...fields,
  };
}

function damage(name: string): void {
  kept.set(
    name,
    kept.get(name)!.map((byte, i) => (i === 0 ? byte ^ 1 : byte)),
  );
}

describe("manifests", () => {
  it("are absent at first", async () => {
    expect(await readManifest(files)).toEqual({ manifest: null, damaged: [], nextN: 0 });
  });

  it.each([0, 1, 10, 800_000_000_000_000])("are read as they were written (%d)", async (n) => {
    await installManifest(files, manifest(n));
    expect(await readManifest(files)).toEqual({ manifest: manifest(n), damaged: [], nextN: n + 1 });
    const late = new LateFiles(files);
    expect((await readManifest(late)).manifest).toEqual(manifest(n));
  });

  it("replace older ones; 10 is newer than 9", async () => {
    for (let n = 8; n <= 11; n++) {
      await installManifest(files, manifest(n));
      expect(await files.list()).toEqual([`manifest-${n}`]);
    }
  });

  it.each([3, 2, 0])("are not installed behind one that has come meanwhile (%d behind 3)", async (n) => {
    await installManifest(files, manifest(3));
    const late = manifest(n, { segments: [] });
    await expect(installManifest(files, late)).rejects.toMatchObject({ code: "already_exists" });
    expect(await files.list()).toEqual(["manifest-3"]);
    expect((await readManifest(files)).manifest).toEqual(manifest(3));
  });

  it("that nobody could read are not installed", async () => {
    await installManifest(files, manifest(3));
    const wrong = manifest(4, { lineage: "none" });
    await expect(installManifest(files, wrong)).rejects.toMatchObject({ code: "internal" });
    expect((await readManifest(files)).manifest).toEqual(manifest(3));
  });

  it("count with the highest number, whatever a crash left; older ones go", async () => {
    await installManifest(files, manifest(4));
    const older = kept.get("manifest-4")!;
    await installManifest(files, manifest(5));
    kept.set("manifest-4", older);
    const found = await readManifest(files);
    expect(found.manifest).toEqual(manifest(5));
    await removeOlderManifests(files, found.manifest!);
    expect(await files.list()).toEqual(["manifest-5"]);
  });

  it("give way to the one before where they are damaged, and say so", async () => {
    await installManifest(files, manifest(4));
    const older = kept.get("manifest-4")!;
    await installManifest(files, manifest(5));
    kept.set("manifest-4", older);
    damage("manifest-5");
    const found = await readManifest(files);
    expect(found).toMatchObject({ manifest: manifest(4), nextN: 6 });
    expect(found.damaged.map(({ file, section }) => [file, section])).toEqual([["manifest-5", "manifest"]]);
    await removeOlderManifests(files, found.manifest!);
    expect(await files.list()).toEqual(["manifest-4", "manifest-5"]);
  });

  it("that are all damaged are not absent", async () => {
    await installManifest(files, manifest(4));
    damage("manifest-4");
    const found = await readManifest(files);
    expect(found).toMatchObject({ manifest: null, nextN: 5 });
    expect(found.damaged).toHaveLength(1);
  });

  it("are not taken for damaged where their files do not answer", async () => {
    await installManifest(files, manifest(4));
    const failing = new LateFiles(files, {
      failure: (operation) => (operation === "read" ? new Error("connection reset") : null),
    });
    await expect(readManifest(failing)).rejects.toThrow("connection reset");
  });

  it("stay as they are where a new one cannot be written", async () => {
    await installManifest(files, manifest(4));
    const failing = new LateFiles(files, {
      failure: (operation) => (operation === "commit" ? new Error("disk full") : null),
    });
    await expect(installManifest(failing, manifest(5))).rejects.toThrow("disk full");
    expect((await readManifest(files)).manifest).toEqual(manifest(4));
  });

  it("that lie under another number are damaged", async () => {
    await installManifest(files, manifest(4));
    kept.set("manifest-9", kept.get("manifest-4")!);
    const found = await readManifest(files);
    expect(found.damaged[0]?.message).toContain("manifest-9, section manifest: it is manifest 4");
    expect(found.manifest).toEqual(manifest(4));
  });

  it("have no other names", async () => {
    for (const name of [
      "manifest-",
      "manifest-01",
      "manifest-1.5",
      "manifest-x",
      "manifest-1.new",
      "manifest",
    ])
      await writeFile(files, name, Buffer.from("x"));
    expect(await readManifest(files)).toEqual({ manifest: null, damaged: [], nextN: 0 });
  });

  const fail = (reason: string): SegmentDamaged => new SegmentDamaged("manifest-1", "manifest", reason);
  it.each([
    ["no JSON", "{", "it is no JSON"],
    ["no object", "[]", "manifest: no object"],
    ["a member too many", JSON.stringify({ ...manifest(1), more: 1 }), "manifest: no object with just n,"],
    ["no lineage", JSON.stringify({ ...manifest(1), lineage: "x" }), "lineage: no UUID"],
    ["a negative number", JSON.stringify({ ...manifest(1), n: -1 }), "n: no integer"],
    ["a fraction", JSON.stringify(manifest(1)).replace(":20", ":20.5"), "segments[0].rows: no integer"],
    ["a large checksum", JSON.stringify(manifest(1)).replace("4294967295", "4294967296"), "segments[0].crc"],
    ["a path", JSON.stringify(manifest(1)).replace("a.seg", "../a"), "segments[0].name: no name of a file"],
    ["a missing head", JSON.stringify({ ...manifest(1), covers: null }), "covers: no object"],
    [
      "a file twice",
      JSON.stringify({ ...manifest(1), deadRows: { name: "a.seg", crc: 1 } }),
      "it names a file twice",
    ],
  ])("with %s are damaged", (_what, text, message) => {
    expect(() => parseManifest(text, fail)).toThrow(message);
  });
});

describe("dead rows", () => {
  const segments = [
    { name: "a.seg", crc: 1, rows: 20 },
    { name: "b.seg", crc: 2, rows: 8 },
  ];

  it("are none without a file", async () => {
    expect(await readDeadRows(files, manifest(1))).toEqual(new Map());
  });

  it("are read as they were written", async () => {
    const dead = new Map([
      ["a.seg", Uint8Array.of(1, 0, 0x0f)],
      ["b.seg", Uint8Array.of(0xff)],
    ]);
    expect(bitmapBytes(20)).toBe(3);
    const deadRows = await writeDeadRows(files, "c.dead", dead);
    expect(await readDeadRows(files, manifest(1, { segments, deadRows }))).toEqual(dead);
    const late = new LateFiles(files);
    expect(await readDeadRows(late, manifest(1, { segments, deadRows }))).toEqual(dead);
  });

  it.each([
    ["b.seg", Uint8Array.of(1, 1), "2 bytes are no bitmap of 8 rows"],
    ["a.seg", Uint8Array.of(1, 1, 0x10), "it has rows beyond 20"],
    ["x.seg", Uint8Array.of(1), "no such segment is in the manifest"],
  ])("that do not fit their segment are damaged (%s)", async (segment, bitmap, message) => {
    const deadRows = await writeDeadRows(files, "c.dead", new Map([[segment, bitmap]]));
    const reading = readDeadRows(files, manifest(1, { segments, deadRows }));
    await expect(reading).rejects.toThrow(SegmentDamaged);
    await expect(reading).rejects.toThrow(`c.dead, section ${segment}: ${message}`);
  });

  it("that are missing, damaged or others are not taken for none", async () => {
    const deadRows = await writeDeadRows(files, "c.dead", new Map([["b.seg", Uint8Array.of(1)]]));
    const read = (identity = deadRows) => readDeadRows(files, manifest(1, { segments, deadRows: identity }));
    await expect(read({ ...deadRows, crc: deadRows.crc ^ 1 })).rejects.toThrow("it is another file");
    await expect(read({ ...deadRows, name: "d.dead" })).rejects.toThrow("d.dead: it is missing");
    damage("c.dead");
    await expect(read()).rejects.toThrow("c.dead, section b.seg: bytes from 0 on");
    await writeSections(files, "e.dead", (writer) => writer.rows("b.seg", 1));
  });
});

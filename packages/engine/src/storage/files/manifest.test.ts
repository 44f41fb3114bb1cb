import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { bitmapBytes, readDeadRows, writeDeadRows } from "./dead-rows.ts";
import { FolderFiles } from "./folder-files.ts";
import { type Manifest, installManifest, readManifest, removeOlderManifests } from "./manifest.ts";
import { MemoryFiles } from "./memory-files.ts";
import { parseManifest } from "./parse-manifest.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import { writeFile } from "./segment-files.suite.ts";
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
    ...{ n, lineage: LINEAGE, covers: n * 9, space: "l2", sparse: ["terms"] },
    head: { sequence: n * 10, nextOffset: n * 5, dimension: n === 0 ? null : 384 },
    kinds: [{ key: "__proto__", kinds: ["int", "string_array"] }],
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

  it("are found to be damaged whichever byte is changed, and wherever they end", async () => {
    await installManifest(files, manifest(4));
    const sound = kept.get("manifest-4")!;
    const broken = sound.length * 2;
    for (let i = 0; i < broken; i++) {
      const at = i % sound.length;
      const flipped = sound.map((byte, place) => (place === at ? byte ^ 0x10 : byte));
      kept.set("manifest-4", i < sound.length ? flipped : sound.subarray(0, at));
      const { manifest: found, damaged } = await readManifest(files);
      expect([found, damaged.length], `byte ${at}`).toEqual([null, 1]);
    }
  });

  it("stay readable when their process is killed at any moment", async () => {
    const folder = temporaryFolder();
    const place = new FolderFiles(folder);
    const path = fileURLToPath(new URL("testing/manifest-writer-process.ts", import.meta.url));
    for (let round = 0, installed = -1; round < 4; round++) {
      const args = ["--conditions=@sheaf/source", "--import", "tsx", path, folder, String(installed + 1)];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      let told = "";
      child.stdout.on("data", (text: Buffer) => (told += text.toString()));
      await once(child.stdout, "data");
      await sleep(Math.random() * 100);
      const closed = once(child, "close");
      child.kill("SIGKILL");
      await closed;
      const found = await readManifest(place);
      expect(found.damaged).toEqual([]);
      // What it said last may be the one before the newest, of which it could not tell any more.
      const last = Number(told.trimEnd().split("\n").at(-1));
      expect(found.manifest!.n - last).toBeOneOf([0, 1]);
      installed = found.manifest!.n;
      await place.removeUnfinished();
      await removeOlderManifests(place, found.manifest!);
      expect(readdirSync(folder)).toEqual([`manifest-${installed}`]);
    }
  });

  it.each([
    ["a folder", (path: string) => mkdirSync(path)],
    ["a link that leads nowhere", (path: string) => symlinkSync("nowhere", path)],
    ["a link that leads to itself", (path: string) => symlinkSync("manifest-5", path)],
    ["a link to a manifest", (path: string) => symlinkSync("aside", path)],
  ])("are damaged where %s lies in the place of one", async (_what, make) => {
    const folder = temporaryFolder();
    const place = new FolderFiles(folder);
    await installManifest(place, manifest(5));
    renameSync(join(folder, "manifest-5"), join(folder, "aside"));
    make(join(folder, "manifest-5"));
    const found = await readManifest(place);
    expect(found).toMatchObject({ manifest: null, nextN: 6 });
    expect(found.damaged.map(({ message }) => message)).toEqual([
      "index file is damaged: manifest-5: it is no file",
    ]);
    await place.quarantine("manifest-5");
    expect(await place.list()).toEqual(["aside"]);
    await installManifest(place, manifest(6));
    expect(await readManifest(place)).toEqual({ manifest: manifest(6), damaged: [], nextN: 7 });
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
    ["a missing head", JSON.stringify({ ...manifest(1), head: null }), "head: no object"],
    ["a head that is behind", JSON.stringify({ ...manifest(1), covers: 11 }), "covers: it is above"],
    ["another space", JSON.stringify({ ...manifest(1), space: "l1" }), "space: none of l2,"],
    ["a key that is none", JSON.stringify({ ...manifest(1), sparse: [1] }), "sparse[0]: no text"],
    [
      "another kind",
      JSON.stringify(manifest(1)).replace("string_array", "text"),
      "kinds[0].kinds[1]: none of",
    ],
    ["kinds of no key", JSON.stringify({ ...manifest(1), kinds: [{ kinds: [] }] }), "kinds[0]: no object"],
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
  });

  it("are found to be damaged whichever byte is changed", async () => {
    const deadRows = await writeDeadRows(files, "c.dead", new Map([["a.seg", Uint8Array.of(1, 0, 0x0f)]]));
    const sound = kept.get("c.dead")!;
    for (let at = 0; at < sound.length; at++) {
      kept.set(
        "c.dead",
        sound.map((byte, place) => (place === at ? byte ^ 0x10 : byte)),
      );
      const reading = readDeadRows(files, manifest(1, { segments, deadRows }));
      await expect(reading, `byte ${at}`).rejects.toThrow(SegmentDamaged);
    }
  });
});

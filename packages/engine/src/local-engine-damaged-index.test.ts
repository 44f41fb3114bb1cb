/** Index files that are damaged or missing: found before they are part of an answer, and only they are made anew. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CollectionRef, SheafError } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { examineIndex } from "./doctor/examine-index.ts";
import { TRAILER_BYTES, decodeFooter, decodeTrailer } from "./storage/files/footer.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { createDiskSpace } from "./storage/folder/disk-space.ts";
import { LmdbEnvironment } from "./storage/lmdb/lmdb-environment.ts";
import { offsetKey } from "./storage/lmdb/record-keys.ts";
import { idsOf, write } from "./testing/engine-fixtures.ts";
import { ALL, INDEX, IndexedFolder, ROWS, expected, nearest, row } from "./testing/indexed-folder.ts";

let folder: IndexedFolder;

beforeEach(() => {
  folder = new IndexedFolder();
});

describe("an engine whose index files are damaged", { timeout: 60_000 }, () => {
  it("makes of the records what a missing or damaged file had, and says so", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    await first.close();
    const left = [...ALL];
    for (const part of [".seg", ".dead", "manifest-"]) {
      const earlier = await folder.open();
      await earlier.delete(ref, { ids: [`r${left.shift()}`], where: null, limit: null });
      await earlier.close();
      const before = folder.names(ref);
      const name = before.find((one) => one.includes(part))!;
      change(ref, name, -20);
      folder.logged.length = 0;
      const engine = await folder.open();
      for (const query of [3, ROWS]) expect(await nearest(engine, ref, query)).toEqual(expected(left, query));
      expect(errors()).toEqual([expect.stringContaining(`index file is damaged: ${name}`)]);
      expect((await engine.statistics()).damagedIndexFiles).toBe(1);
      expect(folder.quarantined(ref).join()).toContain(name);
      if (part === "manifest-") expect(told()).toEqual([]);
      else {
        const isSegment = part === ".seg";
        const what = isSegment ? "segments: 1, rows: \\d+ at most" : "the list of dead rows";
        const [start, end] = told();
        expect(start).toMatch(
          new RegExp(`^rebuilding what lost index files had, from the records: ${what}$`, "u"),
        );
        expect(end).toMatch(/^rebuilt \d+ rows of lost index files in [\d.]+ s$/u);
        expect(Number(end!.split(" ")[1]) > 0).toBe(isSegment);
      }
      await folder.settledNames(ref);
      if (part !== "manifest-")
        expect(folder.names(ref)).toEqual(expect.arrayContaining(soundSegments(before, name)));
      await engine.close();
      folder.logged.length = 0;
      const again = await folder.open();
      expect(await nearest(again, ref, 3)).toEqual(expected(left, 3));
      await again.close();
      expect(folder.logged).toEqual([]);
    }
    const name = folder.segmentsOf(ref)[0]!;
    rmSync(join(folder.indexOf(ref), name));
    const engine = await folder.open();
    expect(await nearest(engine, ref, 3)).toEqual(expected(left, 3));
    expect(errors()).toEqual([expect.stringContaining(`${name}: it is missing`)]);
    // Nothing was set aside.
    expect((await engine.statistics()).damagedIndexFiles).toBe(0);
  });

  it("gives forks the files that are left, and each makes again what is lost", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    const name = folder.segmentsOf(ref)[0]!;
    rmSync(join(folder.indexOf(ref), name));
    const { id } = await first.forkCollection(ref, "fork");
    const fork = { ...ref, id };
    expect(folder.segmentsOf(fork)).toEqual(folder.segmentsOf(ref));
    expect(await nearest(first, fork, 3)).toEqual(expected(ALL, 3));
    expect(await idsOf(first, fork)).toEqual(ALL.map((i) => `r${i}`));
    expect(errors()).toEqual([expect.stringContaining(`${name}: it is missing`)]);
    expect(told()).toHaveLength(2);
    await first.close();
    folder.logged.length = 0;
    const second = await folder.open();
    expect(await nearest(second, ref, 3)).toEqual(expected(ALL, 3));
    expect(told()).toHaveLength(2);
  });

  it("is told of by the doctor, with what the next opening reads again", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    await first.delete(ref, { ids: ["r3"], where: null, limit: null });
    const known = { ...(await first.getCollection(ref)), ...ref, shared: false };
    await first.close();
    const doctor = async (): Promise<[string, string][]> =>
      (await examineIndex(folder.path, known)).map(({ problem, remedy }) => [problem, remedy]);
    expect(await doctor()).toEqual([]);
    const saved = `${folder.indexOf(ref)}.saved`;
    cpSync(folder.indexOf(ref), saved, { recursive: true });
    const after = (what: string): string =>
      expect.stringContaining(`the server reads ${what} from the records once it meets the damage`);
    const told = async (part: string, what: unknown): Promise<void> => {
      rmSync(folder.indexOf(ref), { recursive: true });
      cpSync(saved, folder.indexOf(ref), { recursive: true });
      const name = folder.names(ref).find((one) => one.includes(part))!;
      change(ref, name, -20);
      const problem = expect.stringMatching(
        new RegExp(`^index file is damaged: ${name}.*no record is lost`, "u"),
      );
      expect(await doctor()).toEqual([[problem, what]]);
    };
    await told("manifest-", after("the whole index"));
    await told(".dead", after("which rows are deleted"));
    await told(".seg", expect.stringMatching(/ the server reads at most \d+ rows from the records once /u));
    rmSync(join(folder.indexOf(ref), folder.segmentsOf(ref).at(-1)!));
    expect(await doctor()).toEqual([
      [expect.stringMatching(/: it is missing; .*no record is lost/u), expect.any(String)],
    ]);
    const engine = await folder.open();
    await engine.count(ref, { ids: null, where: null });
    await engine.close();
    expect(await doctor()).toContainEqual([
      expect.stringMatching(/^files that were damaged and set aside: [^,]+[.]seg$/u),
      expect.stringContaining("quarantine"),
    ]);
  });

  it("makes it anew where a file lies in the place of their folder, which the doctor names", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    const known = { ...(await first.getCollection(ref)), ...ref, shared: false };
    await first.close();
    const place = folder.indexOf(ref);
    rmSync(place, { recursive: true });
    writeFileSync(place, "");
    expect(await examineIndex(folder.path, known)).toMatchObject([
      { severity: "warning", problem: expect.stringContaining("is no folder") },
    ]);
    const engine = await folder.open();
    expect(await nearest(engine, ref, 3)).toEqual(expected(ALL, 3));
    expect(await folder.settledNames(ref)).toContainEqual(expect.stringMatching(/[.]seg$/u));
    await engine.close();
    expect(await examineIndex(folder.path, known)).toEqual([]);
  });

  it.each([
    ["a folder", (path: string): void => void mkdirSync(join(path, "within"), { recursive: true })],
    ["a link", (path: string) => symlinkSync("aside", path)],
  ])("sets %s aside that lies in the place of the manifest, and the doctor names it", async (_what, make) => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    const known = { ...(await first.getCollection(ref)), ...ref, shared: false };
    await first.close();
    const name = folder.names(ref).find((one) => one.startsWith("manifest-"))!;
    const path = join(folder.indexOf(ref), name);
    renameSync(path, join(folder.indexOf(ref), "aside"));
    make(path);
    expect(await examineIndex(folder.path, known)).toMatchObject([
      { severity: "warning", problem: expect.stringContaining(`${name}: it is no file`) },
    ]);
    const engine = await folder.open();
    expect(await nearest(engine, ref, 3)).toEqual(expected(ALL, 3));
    expect(errors()).toEqual([expect.stringContaining(`${name}: it is no file`)]);
    expect(folder.quarantined(ref).join()).toContain(name);
    await folder.settledNames(ref);
    await engine.close();
    folder.logged.length = 0;
    const again = await folder.open();
    expect(await nearest(again, ref, 3)).toEqual(expected(ALL, 3));
    expect(errors()).toEqual([]);
    expect(await examineIndex(folder.path, known)).toMatchObject([{ severity: "note" }]);
  });

  it("finds every damage of a segment before it is part of an answer, and loses no other file by it", async () => {
    const first = await folder.open();
    const ref = await folder.filled(first);
    await first.close();
    const saved = `${folder.indexOf(ref)}.saved`;
    cpSync(folder.indexOf(ref), saved, { recursive: true });
    const before = folder.names(ref);
    const name = before.find((one) => one.endsWith(".seg"))!;
    let found = 0;
    for (const [i, at] of placesIn(join(saved, name)).entries()) {
      rmSync(folder.indexOf(ref), { recursive: true });
      cpSync(saved, folder.indexOf(ref), { recursive: true });
      folder.logged.length = 0;
      const engine = await folder.open();
      // The file is open by then.
      if (i % 2 === 0) await answered(() => engine.count(ref, { ids: null, where: null }));
      change(ref, name, at);
      expect(await answered(() => nearest(engine, ref, 3))).toEqual(expected(ALL, 3));
      expect(await answered(() => idsOf(engine, ref))).toEqual(ALL.map((i) => `r${i}`));
      await answered(() => write(engine, ref, "upsert", row(5)));
      expect(await answered(() => engine.count(ref, { ids: null, where: null }))).toBe(ROWS);
      const isFound = folder.quarantined(ref).length > 0;
      const rebuilt = told().filter((line) => line.startsWith("rebuilt"));
      expect(rebuilt).toHaveLength(isFound ? 1 : 0);
      expect((await engine.statistics()).damagedIndexFiles).toBe(isFound ? 1 : 0);
      const kept = isFound ? soundSegments(before, name) : segmentsIn(before);
      expect(folder.names(ref)).toEqual(expect.arrayContaining(kept));
      if (isFound) found++;
      await engine.close();
    }
    expect(found).toBeGreaterThan(4);
  });

  it.each([false, true])(
    "finds damage as segments are merged (by the indexer process: %s)",
    async (indexer) => {
      const first = await folder.open();
      const ref = await folder.filled(first);
      await first.close();
      const engine = await folder.open({ ...INDEX, indexer });
      expect(await engine.count(ref, { ids: null, where: null })).toBe(ROWS);
      const before = folder.segmentsOf(ref);
      for (const name of before) ruin(ref, name);
      // Most rows of the sealed segments go, so that they are written anew.
      const doomed = ALL.slice(0, 250);
      const ids = doomed.map((i) => `r${i}`);
      await answered(() => engine.delete(ref, { ids, where: null, limit: null }));
      const left = ALL.slice(250);
      await expect
        .poll(() => answered(() => nearest(engine, ref, 3)).then(() => folder.quarantined(ref).length))
        .toBeGreaterThan(0);
      expect(await answered(() => nearest(engine, ref, 3))).toEqual(expected(left, 3));
      expect(await answered(() => idsOf(engine, ref))).toEqual(left.map((i) => `r${i}`));
      await folder.settledNames(ref);
      await engine.close();
      const again = await folder.open();
      expect(await nearest(again, ref, 3)).toEqual(expected(left, 3));
    },
  );

  it("finds damaged records behind the first answer, and then refuses what they may belong to", async () => {
    const first = await folder.open(INDEX, { shareStores: null });
    const ref = await folder.filled(first);
    await first.close();
    await damageRecord(new DataFolder(folder.path).collection(ref.id), 4);
    const engine = await folder.open();
    const everything = { ids: null, where: null };
    // What needs nothing of the record is right until then.
    expect([ROWS, "refused"]).toContain(await engine.count(ref, everything).catch(() => "refused"));
    const refusal = { code: "collection_unavailable", message: expect.stringContaining('record "r4"') };
    for (let found = false; !found; await sleep(20))
      found = await engine.count(ref, everything).then(
        () => false,
        (error: SheafError) => error.code === "collection_unavailable",
      );
    await expect(engine.count(ref, everything)).rejects.toMatchObject(refusal);
    expect(await engine.count(ref, { ids: ["r5"], where: null })).toBe(1);
    await engine.delete(ref, { ids: ["r4"], where: null, limit: null });
    expect(await engine.count(ref, everything)).toBe(ROWS - 1);
  });
});

function errors(): unknown[] {
  return folder.logged.flatMap(({ level, error }) => (level === "info" ? [] : [error]));
}

/** Lines of the log that tell of what was lost. */
function told(): string[] {
  return folder.logged.flatMap(({ message }) => (message.includes("lost index files") ? [message] : []));
}

function segmentsIn(files: readonly string[]): string[] {
  return files.filter((name) => name.endsWith(".seg"));
}

function soundSegments(files: readonly string[], damaged: string): string[] {
  return segmentsIn(files).filter((name) => name !== damaged);
}

/** All of it, in place. */
function ruin(ref: CollectionRef, name: string): void {
  const path = join(folder.indexOf(ref), name);
  writeFileSync(path, readFileSync(path).fill(0x5a), { flag: "r+" });
}

/** One in the middle of each section of an index file, and some of its footer. */
function placesIn(path: string): number[] {
  const bytes = readFileSync(path);
  const { footerBytes } = decodeTrailer(path, bytes, bytes.length);
  const end = bytes.length - TRAILER_BYTES - footerBytes;
  const { sections } = decodeFooter(path, bytes.subarray(end), bytes.length);
  return [...sections.map(({ offset, length }) => offset + (length >>> 1)), end + 30, bytes.length - 5];
}

/** Flips bits of one byte of a file; a negative place counts from the end. */
function change(ref: CollectionRef, name: string, place: number): void {
  const path = join(folder.indexOf(ref), name);
  const bytes = readFileSync(path);
  bytes[place < 0 ? bytes.length + place : place]! ^= 0x55;
  writeFileSync(path, bytes);
}

/** Flips bits in the middle of a record's value. */
async function damageRecord(folder: string, offset: number): Promise<void> {
  const environment = new LmdbEnvironment({ folder, name: "damaged", disk: createDiskSpace(folder) });
  await environment.transact(() => {
    const value = Uint8Array.from(environment.get(offsetKey(offset))!);
    value[20]! ^= 1;
    environment.put(offsetKey(offset), value);
  });
  await environment.close();
}

/** As a client that tries again after 503, as often as it is told to. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== "unavailable" || tries > 5) throw error;
    }
  }
}

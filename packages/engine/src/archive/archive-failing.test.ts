/** While an archive cannot be written, reads go on, and every write says whether it is stored. */
import { utimesSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readHeader } from "../backup/backup-files.ts";
import { verifyBackup } from "../backup/verify-backup.ts";
import type { Engine } from "../engine.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { listSegments } from "./archive-format.ts";
import { Archive } from "./archive.ts";
import { readMark, writeMark } from "./archive-mark.ts";
import { type PlannedReplay, type ReplayTarget, planReplay } from "./plan-replay.ts";
import { Archived, DAY_MS, positionOf, stateOf } from "./testing/archived.ts";

describe("an archive that cannot be written", () => {
  it("refuses writes while it cannot be written, and loses none that it had taken", async () => {
    const archived = new Archived();
    archived.segmentBytes = 1;
    const engine = await archived.open();
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    await archived.back(engine);
    const free = archived.bar(await positionOf(engine));
    await expect(write(engine, ref, "upsert", record("b"))).rejects.toMatchObject({ code: "unavailable" });
    expect((await engine.statistics()).archiveFailing).toBe(1);
    await expect(write(engine, ref, "upsert", record("c"))).rejects.toMatchObject({ code: "unavailable" });
    free();
    await expect.poll(async () => (await engine.statistics()).archiveFailing).toBe(0);
    await write(engine, ref, "upsert", record("d"));
    expect(await stateOf(await archived.restored(null))).toEqual(await stateOf(engine));
  });

  it("that cannot be written bars no reads, after a start neither, and a write that is stored says so", async () => {
    const archived = new Archived();
    archived.segmentBytes = 1;
    const engine = await archived.open();
    const refs = [await makeCollection(engine), await makeCollection(engine)];
    for (const ref of refs) await write(engine, ref, "add", record("a"));
    await archived.back(engine);
    // Marked as written to, as it is until its next checkpoint.
    await write(engine, refs[0]!, "add", record("b"));
    archived.bar(await positionOf(engine));
    await expect(write(engine, refs[0]!, "add", record("c"))).rejects.toThrow("the write is stored");
    await expect(write(engine, refs[0]!, "add", record("d"))).rejects.toThrow("nothing can be");
    await engine.close();
    archived.free();
    const again = await archived.open();
    archived.bar(await positionOf(again));
    const read = async (): Promise<unknown> => (await readAll(again, refs[0]!)).map(({ id }) => id);
    expect([await read(), await read()]).toEqual([
      ["a", "b", "c"],
      ["a", "b", "c"],
    ]);
    await expect(write(again, refs[1]!, "add", record("e"))).rejects.toMatchObject({ code: "unavailable" });
    archived.free();
    await expect.poll(async () => (await again.statistics()).archiveFailing).toBe(0);
    await write(again, refs[0]!, "add", record("f"));
    expect(await stateOf(await archived.restored(null))).toEqual(await stateOf(again));
  });

  it("may fail before its writer asks", async () => {
    const archived = new Archived();
    await (await archived.open()).close();
    const settings = { folder: archived.folder, keepMs: DAY_MS, segmentBytes: 1 };
    const problems: unknown[] = [];
    const onProblem = (problem: unknown): void => void problems.push(problem);
    const disk = createDiskSpace(archived.folder, {});
    const { dataFolder } = archived;
    const archive = Archive.open(settings, { dataFolder, disk, onProblem, onNews: () => undefined });
    onTestFinished(() => archive.close());
    archived.bar(archive.measure.archivePosition);
    const head = { sequence: 1, nextOffset: 1, dimension: 2, counts: null };
    const archiving = archive.begin("c");
    const durable = archiving.append(0, { head, puts: [], removes: [] });
    // As a write does that waits for its index first. A rejection that nobody hears meanwhile ends the process.
    await expect.poll(() => problems.length).toBe(1);
    await setImmediate();
    await expect(durable).rejects.toThrow("the write is stored");
    archived.free();
  });

  it("costs no backup that is complete, though it cannot be noted", async () => {
    const archived = new Archived();
    archived.segmentBytes = 1;
    const writing = await archived.open();
    await write(writing, await makeCollection(writing), "add", record("a"));
    // What it has to say of its last writes is said with its end.
    await writing.close();
    const engine = await archived.open();
    archived.bar(await positionOf(engine));
    await archived.back(engine);
    expect((await verifyBackup(archived.backup)).problems).toEqual([]);
    expect((await engine.statistics()).archiveFailing).toBe(1);
    archived.free();
  });

  it("says that no backup leads to it until one does", async () => {
    const archived = new Archived();
    const isMissing = async (engine: Engine): Promise<number> =>
      (await engine.statistics()).archiveBackupMissing;
    const engine = await archived.open();
    await makeCollection(engine);
    expect(await isMissing(engine)).toBe(1);
    await archived.back(engine);
    expect(await isMissing(engine)).toBe(0);
    await engine.close();
    const again = await archived.open();
    expect(await isMissing(again)).toBe(0);
    await again.close();
    await (await archived.open(false)).close();
    expect(await isMissing(await archived.open())).toBe(1);
  });

  it.each([
    { by: "this version", isOld: false },
    { by: "an earlier version", isOld: true },
  ])(
    "says so where it has removed what the newest backup of $by needs, after a start too",
    async ({ isOld }) => {
      const archived = new Archived();
      const engine = await archived.open();
      const ref = await makeCollection(engine);
      await archived.back(engine);
      for (let i = 0; i < 20; i++)
        await write(engine, ref, "upsert", record("a", { document: "x".repeat(999) }));
      await engine.close();
      const mark = readMark(archived.dataFolder)!;
      // It did not say from where on a backup needs the archive.
      if (isOld) writeMark(archived.dataFolder, { ...mark, from: null });
      const isMissing = async (): Promise<number> => {
        const again = await archived.open();
        const { archiveBackupMissing } = await again.statistics();
        await again.close();
        return archiveBackupMissing;
      };
      expect(await isMissing()).toBe(0);
      const longAgo = Date.now() / 1_000 - (3 * DAY_MS) / 1_000;
      for (const { path } of listSegments(archived.folder)) utimesSync(path, longAgo, longAgo);
      expect(await isMissing()).toBe(1);
      expect(archived.logged.filter((line) => line.includes("the newest backup needs"))).toHaveLength(1);
      expect(await isMissing()).toBe(1);
    },
  );

  it("says from which entry on a clock that was set back makes times useless, and which number is meant", async () => {
    const archived = new Archived();
    const engine = await archived.open();
    const ref = await makeCollection(engine);
    await archived.back(engine);
    const before = await positionOf(engine);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + DAY_MS });
    onTestFinished(() => void vi.useRealTimers());
    await write(engine, ref, "add", record("a"));
    const position = await positionOf(engine);
    const at = (ms: number): void => void vi.setSystemTime(Date.now() + ms);
    at(5_000 - DAY_MS);
    await write(engine, ref, "add", record("b"));
    at(1_000);
    await write(engine, ref, "add", record("c"));
    const [moment, state] = [Date.now(), await stateOf(engine)];
    at(1_000);
    await write(engine, ref, "add", record("d"));
    const [end, last] = [await positionOf(engine), Date.now()];
    at(DAY_MS);
    await write(engine, ref, "add", record("e"));
    await engine.close();
    expect(archived.logged.filter((line) => line.includes("the clock was set back"))).toEqual([
      expect.stringContaining(`entries of the archive from ${position + 1} on`),
    ]);
    const header = await readHeader(archived.backup);
    const setBackOf = (target: ReplayTarget): PlannedReplay["setBack"] =>
      planReplay(archived.folder, header, target).setBack;
    const [stretch, ...others] = setBackOf({ time: moment });
    expect(others).toEqual([]);
    expect(stretch).toMatchObject({ from: position + 1, last });
    expect(stretch!.to).toBeGreaterThanOrEqual(end);
    expect(await stateOf(await archived.restored({ position: stretch!.wanted! }))).toEqual(state);
    expect(setBackOf(null)).toEqual([{ ...stretch, wanted: null }]);
    // Of before the clock was set back; and nobody asks for a time.
    expect(setBackOf({ time: moment - 3_000 })).toEqual([]);
    expect(setBackOf({ position: before })).toEqual([]);
  });
});

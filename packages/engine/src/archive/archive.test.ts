/** An archive leads from a backup to any moment after it, and says so where it does not. */
import { cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CollectionRef } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { readHeader } from "../backup/backup-files.ts";
import { createLocalEngine } from "../create-local-engine.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../storage/lmdb/own-environment.ts";
import { AT, makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { decodeChangeHead } from "./archive-entries.ts";
import { ENTRY_KIND, listSegments } from "./archive-format.ts";
import { ARCHIVE_MARK } from "./archive-mark.ts";
import { type ReplayTarget, planReplay } from "./plan-replay.ts";
import { readArchive } from "./read-archive.ts";
import { Archived, DAY_MS, EVERY_PAGE, positionOf, refusalOf, stateOf } from "./testing/archived.ts";

const changed = (body: Buffer): string => decodeChangeHead(body).collection;

describe("an archive", () => {
  it.each([
    ["of their own", false],
    ["that they share", true],
  ])(
    "leads to the state at every position, of collections that come and go, in stores %s",
    async (_, isShared) => {
      const archived = new Archived();
      archived.isShared = isShared;
      const engine = await archived.open();
      const refs: CollectionRef[] = [await makeCollection(engine), await makeCollection(engine)];
      for (const ref of refs) await write(engine, ref, "add", record("a"), record("b"));
      await archived.back(engine);
      const states: (readonly [number, unknown])[] = [];
      let seed = 7;
      const random = (below: number): number => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed % below;
      };
      for (let i = 0; i < 40; i++) {
        const ref = refs[random(refs.length)]!;
        const [id, kind] = [`r${random(9)}`, random(12)];
        if (kind < 5)
          await write(engine, ref, "upsert", record(id, { document: `text ${i}` }), record(`s${i}`));
        else if (kind < 8) await engine.delete(ref, { ids: [id, "a"], where: null, limit: null });
        else if (kind === 8) refs.push({ ...AT, id: (await engine.forkCollection(ref, `fork-${i}`)).id });
        else if (kind === 9) refs.push(await makeCollection(engine, `made-${i}`));
        else if (kind === 10) await engine.updateCollection(ref, { name: `renamed-${i}` });
        else if (refs.length > 2) {
          await engine.deleteCollection({ ...AT, name: (await engine.getCollection(ref)).name });
          refs.splice(refs.indexOf(ref), 1);
        }
        states.push([await positionOf(engine), await stateOf(engine)]);
      }
      await engine.close();
      expect(listSegments(archived.folder).length).toBeGreaterThan(3);
      for (const [position, state] of states.filter((_, i) => i % 10 === 9)) {
        const restored = await archived.restored({ position });
        expect(await stateOf(restored)).toEqual(state);
        await restored.close();
      }
      const newest = await archived.restored(null);
      expect(await stateOf(newest)).toEqual(states.at(-1)![1]);
      // What is restored is a past of its own.
      const [first] = refs;
      await write(newest, first!, "upsert", record("later"));
    },
  );

  it("has every commit that was acknowledged while others and a backup were under way", async () => {
    const archived = new Archived();
    archived.segmentBytes = 50_000;
    const engine = await archived.open();
    const refs = [await makeCollection(engine), await makeCollection(engine)];
    const writing = refs.flatMap((ref, c) =>
      Array.from({ length: 40 }, (_, i) =>
        write(engine, ref, "upsert", record(`${c}-${i % 30}`), record("x")),
      ),
    );
    await Promise.all([archived.back(engine), ...writing]);
    const state = await stateOf(engine);
    const restored = await archived.restored({ position: await positionOf(engine) });
    expect(await stateOf(restored)).toEqual(state);
  });

  it("has the records of a fork that was under way when a backup began", async () => {
    const archived = new Archived();
    archived.segmentBytes = 1;
    const engine = await archived.open();
    const ref = await makeCollection(engine);
    // Several entries.
    const records = Array.from({ length: 1_100 }, (_, i) => record(`r${i}`));
    await write(engine, ref, "add", ...records);
    const before = await positionOf(engine);
    const forking = engine.forkCollection(ref, "fork");
    const isImaged = (): boolean => (listSegments(archived.folder).at(-1)?.first ?? 0) > before;
    await expect.poll(isImaged, { interval: 1 }).toBe(true);
    await Promise.all([archived.back(engine), forking]);
    const { id } = await forking;
    const entries = [...readArchive(archived.folder, before)];
    const part = entries.find(({ kind, body }) => kind === ENTRY_KIND.change && changed(body) === id);
    const named = entries.find(
      ({ kind, position }) => kind === ENTRY_KIND.catalog && position > part!.position,
    );
    const { from } = (await readHeader(archived.backup)).archive!;
    expect(from >= named!.position || from < part!.position).toBe(true);
    expect(await stateOf(await archived.restored(null))).toEqual(await stateOf(engine));
  });

  it("goes on after a process was killed, with what that had committed and not archived", async () => {
    const archived = new Archived();
    const engine = await archived.open();
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    await archived.back(engine);
    await write(engine, ref, "add", record("b"));
    await engine.close();
    const segment = listSegments(archived.folder).at(-1)!.path;
    const { size } = statSync(segment);
    // A killed process had committed this, and written part of its entry.
    const place = new DataFolder(archived.dataFolder).collection(ref.id);
    const disk = createDiskSpace(place);
    const store = new LmdbRecordStore(ownEnvironment({ folder: place, name: "killed", disk }));
    const { sequence, nextOffset, dimension } = store.head;
    await store.apply((view) => {
      const [a, b] = [view.find("a")!, view.find("b")!];
      return {
        head: { sequence: sequence + 3, nextOffset: nextOffset + 1, dimension },
        puts: [
          { ...a, document: "new", sequence: sequence + 1 },
          { ...a, id: "c", offset: nextOffset, sequence: sequence + 2 },
        ],
        removes: [{ ...b, sequence: sequence + 3 }],
      };
    });
    await store.close();
    writeFileSync(segment, Buffer.concat([readFileSync(segment), Buffer.from("torn")]));
    const third = await archived.open();
    expect(statSync(segment).size).toBe(size);
    await write(third, ref, "upsert", record("d"));
    expect((await readAll(third, ref)).map(({ id }) => id)).toEqual(["a", "c", "d"]);
    expect(await stateOf(await archived.restored(null))).toEqual(await stateOf(third));
    expect(archived.logged.filter((line) => line.includes("new chain"))).toHaveLength(1);
  });

  it("refuses what is damaged, missing, too early or of another chain, and says how far it leads", async () => {
    const archived = new Archived();
    archived.segmentBytes = 1_500;
    const engine = await archived.open();
    const ref = await makeCollection(engine);
    const early = await positionOf(engine);
    await write(engine, ref, "add", record("a"));
    await archived.back(engine);
    for (let i = 0; i < 20; i++)
      await write(engine, ref, "upsert", record(`b${i}`, { document: "x".repeat(99) }));
    const last = await positionOf(engine);
    await engine.close();
    const header = await readHeader(archived.backup);
    const plan = (target: ReplayTarget): Promise<string> =>
      refusalOf(() => planReplay(archived.folder, header, target));
    expect(await plan(null)).toBe("");
    expect(await plan({ position: early })).toContain("restore an earlier one");
    expect(await plan({ time: 1_000 })).toContain("restore an earlier one");
    expect(await plan({ position: last + 100 })).toContain("the archive ends at entry");

    const segments = listSegments(archived.folder);
    const middle = segments.at(-3)!;
    const bytes = readFileSync(middle.path);
    for (const at of [10, 40, 75, bytes.length - 2]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      writeFileSync(middle.path, changed);
      expect(await plan(null)).toMatch(/followed up to entry \d+ only: (entry \d+ in )?segment/u);
      expect(await plan({ position: middle.first - 1 })).toBe("");
    }
    rmSync(middle.path);
    expect(await plan(null)).toContain("are missing");
    writeFileSync(middle.path, bytes);
    truncateSync(middle.path, bytes.length - 5);
    expect(await plan(null)).toContain("is damaged");
    writeFileSync(middle.path, bytes);
    expect(await plan(null)).toBe("");

    const without = await archived.open(false);
    await write(without, ref, "add", record("unseen"));
    await without.close();
    const again = await archived.open();
    await write(again, ref, "add", record("seen"));
    await again.close();
    expect(await plan(null)).toContain("of another chain");
    expect(await plan({ position: last })).toBe("");
    expect(await refusalOf(() => planReplay(archived.folder, { ...header, archive: null }, null))).toContain(
      "without --archive",
    );
  });

  it("refuses a backup of a time that was given up, set back together with its data folder", async () => {
    const archived = new Archived();
    const engine = await archived.open();
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    await archived.back(engine);
    const header = await readHeader(archived.backup);
    await engine.close();
    const folders = [archived.dataFolder, archived.folder];
    for (const folder of folders) cpSync(folder, `${folder}.snapshot`, { recursive: true });
    const abandoned = await archived.open();
    await write(abandoned, ref, "upsert", record("b"));
    // Nothing is written while it is made, so nothing of the archive has to be replayed to reach it.
    archived.backup = `${archived.backup}-of-later`;
    await archived.back(abandoned);
    await abandoned.close();
    for (const folder of folders) {
      rmSync(folder, { recursive: true });
      cpSync(`${folder}.snapshot`, folder, { recursive: true });
    }
    const again = await archived.open();
    for (const id of ["c", "d", "e"]) await write(again, ref, "upsert", record(id));
    const later = await readHeader(archived.backup);
    expect(await refusalOf(() => planReplay(archived.folder, later, null))).toContain("was set back");
    // One that has no seal, as of earlier versions, is taken on trust.
    const { seal: _seal, ...unsealed } = later.archive!;
    expect(await refusalOf(() => planReplay(archived.folder, { ...later, archive: unsealed }, null))).toBe(
      "",
    );
    expect(planReplay(archived.folder, header, null).to).toBe(await positionOf(again));
  });

  it("belongs to one server at a time", async () => {
    const [archived, other] = [new Archived(), new Archived()];
    const engine = await archived.open();
    const ref = await makeCollection(engine);
    const intruder = createLocalEngine({
      dataFolder: other.dataFolder,
      archive: { folder: archived.folder, keepMs: DAY_MS },
    });
    await expect(intruder).rejects.toThrow("is in use by another Sheaf server");
    await write(engine, ref, "add", record("a"));
    await engine.close();
    await archived.open();
    expect(archived.logged.filter((line) => line.includes("new chain"))).toHaveLength(1);
  });

  it("voids a commit of the catalog that was never done", async () => {
    const archived = new Archived();
    const engine = await archived.open();
    await makeCollection(engine, "kept");
    await archived.back(engine);
    const goBack = archived.catalogOfNow();
    await makeCollection(engine, "lost");
    await engine.close();
    goBack();
    const again = await archived.open();
    await makeCollection(again, "later");
    const kinds = [...readArchive(archived.folder, 0)].map(({ kind }) => kind);
    expect(kinds).toContain(ENTRY_KIND.void);
    expect(await stateOf(await archived.restored(null))).toEqual(await stateOf(again));
    expect(readFileSync(join(archived.dataFolder, ARCHIVE_MARK), "utf8")).toContain("chain");
  });

  it("begins anew where the data folder is of an earlier time than it", async () => {
    const archived = new Archived();
    const engine = await archived.open();
    await makeCollection(engine, "kept");
    await archived.back(engine);
    const goBack = archived.catalogOfNow();
    for (const name of ["lost", "lost-too"]) await makeCollection(engine, name);
    const last = await positionOf(engine);
    await engine.close();
    goBack();
    await makeCollection(await archived.open(), "later");
    expect(archived.logged.at(-1)).toContain("of another time");
    expect(await refusalOf(() => archived.restored(null))).toContain(`after entry ${last}`);
    const { items } = await (await archived.restored({ position: last })).listCollections(AT, EVERY_PAGE);
    expect(items.map(({ name }) => name)).toEqual(["kept", "lost", "lost-too"]);
  });
});

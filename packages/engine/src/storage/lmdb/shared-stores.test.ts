import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { type StoreChange, type StoreView, EMPTY_HEAD } from "../record-store.ts";
import { LIMITS } from "@sheaf/protocol";
import { recordStoreSuite, storedRecord } from "../record-store.suite.ts";
import type { StoredRecord } from "../stored-record.ts";
import { EVERY_KEY } from "./key-range.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";
import { LmdbFile } from "./lmdb-file.ts";
import { LmdbRecordStore } from "./lmdb-record-store.ts";
import { ownEnvironment } from "./own-environment.ts";
import { RECORD_KEYS, idKey, offsetKey } from "./record-keys.ts";
import { SharedStores, shareId } from "./shared-stores.ts";
import { sharedName, sharedNames } from "../folder/shared-names.ts";

const root = mkdtempSync(join(tmpdir(), "sheaf-shared-"));
const suiteStores = sharedStores(root);
afterAll(async () => {
  await suiteStores.close();
  rmSync(root, { recursive: true, force: true });
});

function sharedStores(path: string): SharedStores {
  return new SharedStores({ path, disk: createDiskSpace(tmpdir()) });
}

function openIn(stores: SharedStores, id: string): LmdbRecordStore {
  return new LmdbRecordStore(stores.source(id, "test"));
}

recordStoreSuite({
  name: "record store in a shared environment",
  open: () => openIn(suiteStores, randomUUID()),
  tracked: LIMITS.trackedOperationsOfSmall,
});

/** Ids that share one environment. */
function neighbours(count: number): readonly string[] {
  return Array.from({ length: count }, () => randomUUID().replace(/^../u, "20"));
}

function batch(
  sequence: number,
  puts: readonly StoredRecord[],
  removes: StoreChange["removes"] = [],
): (view: StoreView) => StoreChange {
  return ({ head }) => ({
    head: { sequence, nextOffset: Math.max(head.nextOffset, ...puts.map((p) => p.offset + 1)), dimension: 2 },
    puts,
    removes,
  });
}

describe("stores in one environment", () => {
  let path: string;
  let stores: SharedStores;

  beforeEach(() => {
    path = temporaryFolder();
    stores = sharedStores(path);
  });

  afterEach(() => stores.close());

  it("are spread over a fixed number of environments, which ids name", () => {
    expect(new Set(sharedNames()).size).toBe(sharedNames().length);
    for (let i = 0; i < 64; i++) expect(sharedNames()).toContain(sharedName(randomUUID()));
  });

  it("costs no file before the first write, and see nothing of each other", async () => {
    const [a, b] = neighbours(2).map((id) => openIn(stores, id)) as [LmdbRecordStore, LmdbRecordStore];
    expect(readdirSync(path)).toEqual([]);
    await a.apply(batch(2, [storedRecord(0), storedRecord(1)]));
    expect([b.head, b.size, b.usedBytes, [...b.scan(0)]]).toEqual([EMPTY_HEAD, 0, 0, []]);
    await b.apply(batch(1, [storedRecord(0, { document: "of b" })]));
    expect([...a.scan(0)]).toEqual([storedRecord(0), storedRecord(1)]);
    expect([...b.scan(0)]).toEqual([storedRecord(0, { document: "of b" })]);
    expect([a.idAt(1), b.idAt(1)]).toEqual(["r1", null]);
    await Promise.all([a.close(), b.close()]);
    expect(readdirSync(join(path, "shared"))).toEqual(["00"]);
  });

  it("keep two vectors of 384 numbers a page as records come and go", async () => {
    const opened = neighbours(2).map((id) => openIn(stores, id));
    const [records, rounds, step] = [120, 160, 40];
    const embedding = new Float32Array(384).fill(1);
    for (let round = 0; round < rounds; round++) {
      for (const store of opened) {
        const { sequence, nextOffset } = store.head;
        const count = round === 0 ? records : step;
        const puts = Array.from({ length: count }, (_, i) =>
          storedRecord(nextOffset + i, { sequence: sequence + 1 + i, embedding }),
        );
        await store.apply(batch(sequence + count, puts));
        const removes = Array.from({ length: round === 0 ? 0 : step }, (_, i) => {
          const offset = nextOffset - records + i;
          return { id: `r${offset}`, offset, sequence: sequence + count + 1 + i };
        });
        await store.apply(batch(sequence + count + removes.length, [], removes));
      }
    }
    await Promise.all(opened.map((store) => store.close()));
    const file = new LmdbFile(join(path, "shared", "00", "data.mdb"));
    const pages = file.meta.main.leafPages;
    file.close();
    // What leads to records, and what remembers the changes, has pages of its own.
    expect(pages).toBeLessThan(records + 100);
  });

  it("share commits, and each fails alone", async () => {
    const opened = neighbours(5).map((id) => openIn(stores, id));
    const results = await Promise.allSettled(
      opened.map((store, i) =>
        store.apply((view) => {
          if (i === 2) throw new Error("no");
          return batch(1, [storedRecord(0)])(view);
        }),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(
      [0, 1, 2, 3, 4].map((i) => (i === 2 ? "rejected" : "fulfilled")),
    );
    expect(opened.map(({ size }) => size)).toEqual([1, 1, 0, 1, 1]);
    await Promise.all(opened.map((store) => store.close()));
  });

  it("count records, entries and bytes in their heads", async () => {
    const [id, other] = neighbours(2) as [string, string];
    const [store, noise] = [openIn(stores, id), openIn(stores, other)];
    await noise.apply(batch(2, [storedRecord(0), storedRecord(1)]));
    await store.apply(batch(3, [storedRecord(0), storedRecord(1), storedRecord(2)]));
    await store.apply(batch(4, [storedRecord(1, { sequence: 4, document: "longer" })]));
    await store.apply(batch(5, [], [{ id: "r0", offset: 0, sequence: 5 }]));
    const broken = store.apply(() => {
      throw new Error("no");
    });
    await expect(broken).rejects.toThrow("no");
    expect(store.size).toBe(2);
    const found = await entriesOf(id);
    const bytes = found.reduce((sum, { key, value }) => sum + key.length - 16 + value.length, 0);
    const head = found.find(({ key }) => key[16] === RECORD_KEYS.head[0])!;
    expect(store.usedBytes).toBe(bytes - 1 - head.value.length);
    expect(() => store.requireWhole(2)).not.toThrow();
    expect(() => store.requireWhole(3)).toThrow("holds 3 records");
    await Promise.all([store.close(), noise.close()]);
  });

  it("tell of an entry that is lost", async () => {
    const [id] = neighbours(1) as [string];
    const store = openIn(stores, id);
    await store.apply(batch(2, [storedRecord(0), storedRecord(1)]));
    await store.close();
    await stores.close();
    const environment = environmentOf(id);
    await environment.transact(() => environment.remove(Buffer.concat([shareId(id), offsetKey(1)])));
    await environment.close();
    stores = sharedStores(path);
    const again = openIn(stores, id);
    expect(() => again.requireWhole([...again.scan(0)].length)).toThrow("in 6 entries");
    await again.close();
  });

  it("tells a quota how much a batch adds", async () => {
    const store = openIn(stores, randomUUID());
    const growths: number[] = [];
    const admit = (growth: number): void => void growths.push(growth);
    await store.apply(batch(1, [storedRecord(0)]), admit);
    expect(growths).toEqual([store.usedBytes]);
    const refused = store.apply(batch(2, [storedRecord(1)]), () => {
      throw new Error("too much");
    });
    await expect(refused).rejects.toThrow("too much");
    expect([store.size, store.usedBytes]).toEqual([1, growths[0]]);
    await store.close();
  });

  it("are removed in commits of at most 1,000 keys, and nothing of others", async () => {
    const [id, other] = neighbours(2) as [string, string];
    const [store, left] = [openIn(stores, id), openIn(stores, other)];
    const many = Array.from({ length: 1_200 }, (_, offset) => storedRecord(offset));
    await store.apply(batch(1_200, many));
    await left.apply(batch(1, [storedRecord(0)]));
    const clear = (of: string, isLeft = true): Promise<string> =>
      stores.clear(of, () => Promise.resolve(isLeft));
    expect(await clear(id)).toBe("in use");
    await store.close();
    expect(await clear(id, false)).toBe("not left behind");
    expect(openIn(stores, other).size).toBe(1);
    const release = stores.reserve(id);
    expect(await clear(id)).toBe("in use");
    release();
    const clearing = clear(id);
    expect(() => openIn(stores, id)).toThrow("is being removed");
    expect(await clearing).toBe("cleared");
    expect(await clear(randomUUID())).toBe("cleared");
    expect(openIn(stores, id).head).toEqual(EMPTY_HEAD);
    expect([...left.scan(0)]).toEqual([storedRecord(0)]);
    await left.close();
    expect(await entriesOf(id)).toEqual([]);
  });

  it.each(["ff000000-0000-4000-8000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"])(
    "are listed, and kept by a copy without free pages, under the high id %s",
    async (id) => {
      const store = openIn(stores, id);
      await store.apply(batch(1, [storedRecord(0)]));
      const before = await entriesOf(id);
      expect(before).toHaveLength(4);
      expect([...stores.idsIn(sharedName(id))]).toEqual([id]);
      await stores.compact(sharedName(id), join(temporaryFolder(), "staged"));
      expect([...store.scan(0)]).toEqual([storedRecord(0)]);
      await store.close();
      expect(await entriesOf(id)).toEqual(before);
    },
  );

  it("can be copied into an environment of their own, as it is acknowledged", async () => {
    const [id, other] = neighbours(2) as [string, string];
    const [store, noise] = [openIn(stores, id), openIn(stores, other)];
    await noise.apply(batch(1, [storedRecord(0, { document: "noise" })]));
    const many = Array.from({ length: 700 }, (_, offset) => storedRecord(offset));
    await store.apply(batch(700, many));
    await store.apply(batch(701, [], [{ id: "r3", offset: 3, sequence: 701 }]));
    const folder = join(temporaryFolder(), "own");
    await store.copyTo(folder);
    const own = new LmdbRecordStore(ownEnvironment({ folder, name: "own", disk: createDiskSpace(tmpdir()) }));
    expect(own.head).toEqual(store.head);
    expect([...own.scan(0)]).toEqual([...store.scan(0)]);
    expect([...(own.changesAfter(0) as Iterable<unknown>)]).toEqual([
      ...(store.changesAfter(0) as Iterable<unknown>),
    ]);
    expect([...own.removedAfter(0)]).toEqual(["r3"]);
    own.requireWhole(699);
    await own.apply(({ head }) => ({ head: { ...head, sequence: 702 }, puts: [], removes: [] }));
    expect(own.size).toBe(699);
    await Promise.all([own.close(), store.close(), noise.close()]);
  });

  it("name themselves where an id leads elsewhere", async () => {
    const [id] = neighbours(1) as [string];
    const store = openIn(stores, id);
    await store.apply(batch(2, [storedRecord(0), storedRecord(1)]));
    await store.close();
    await stores.close();
    const environment = environmentOf(id);
    await environment.transact(() =>
      environment.put(Buffer.concat([shareId(id), idKey("r0")]), offsetKey(1)),
    );
    await environment.close();
    stores = sharedStores(path);
    const again = openIn(stores, id);
    expect(() => again.find("r0")).toThrow(
      shareId(id).reduce((hex, byte) => hex + byte.toString(16).padStart(2, "0"), ""),
    );
    await again.close();
  });

  function environmentOf(id: string): LmdbEnvironment {
    return new LmdbEnvironment({
      folder: join(path, sharedName(id)),
      name: sharedName(id),
      disk: createDiskSpace(tmpdir()),
    });
  }

  /** As they lie there. */
  async function entriesOf(id: string): Promise<readonly { key: Uint8Array; value: Uint8Array }[]> {
    const open = new SharedStores({ path, disk: createDiskSpace(tmpdir()), readOnly: true });
    await open.close();
    const environment = environmentOf(id);
    const entries = [...environment.iterate(EVERY_KEY)].filter(({ key }) =>
      Buffer.from(key.subarray(0, 16)).equals(shareId(id)),
    );
    await environment.close();
    return entries;
  }
});

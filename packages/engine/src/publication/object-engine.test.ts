/** Engines on one database and one object store: what one has sealed, others need not make again. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { CollectionRef } from "@sheaf/protocol";
import { createLocalEngine } from "../create-local-engine.ts";
import { engineSuite } from "../engine.suite.ts";
import type { Engine } from "../engine.ts";
import { AT, idsOf, makeCollection, write } from "../testing/engine-fixtures.ts";
import { INDEX, ROWS, nearest, row } from "../testing/indexed-folder.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import {
  type ClusterOptions,
  EAGER,
  ObjectCluster,
  expectNothingLeft,
  expectSame,
  flipped,
  indexOf,
  segmentsIn,
  settled,
} from "./testing/object-cluster.ts";
import { PrefixOwner } from "./prefix-owner.ts";
import { StartedStores } from "./testing/started-stores.ts";

const ALL = { ids: null, where: null };

const folder = mkdtempSync(join(tmpdir(), "sheaf-object-engine-"));
const stores = new StartedStores();
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  stores.server.calls.length = 0;
});

engineSuite(
  "engine on a database and an object store",
  () =>
    createLocalEngine({
      ...{ dataFolder: folder, database: stores.database.settings(), index: INDEX },
      objects: { ...stores.server.settings(), publication: EAGER },
    }),
  { mayOvertake: true },
);

function cluster(options?: ClusterOptions): ObjectCluster {
  return new ObjectCluster(stores.database.settings(), stores.server.settings(), options);
}

function asked(method: string, name: string): number {
  return stores.server.calls.filter((call) => call.startsWith(method) && call.includes(name)).length;
}

async function remove(engine: Engine, ref: CollectionRef, ...ids: readonly string[]): Promise<void> {
  await engine.delete(ref, { ids, where: null, limit: null });
}

describe("engines on one database and one object store", () => {
  it("open what another has sealed without making it again, and answer as it does", async () => {
    const shared = cluster();
    const one = await shared.open();
    const ref = await shared.published(one);
    const segments = await shared.segments(ref);
    await remove(one, ref, "r3", "r200");
    await write(one, ref, "update", { ...row(17), document: "changed" });
    const path = temporaryFolder();
    const two = await shared.open(path);
    await expectSame(one, two, ref);
    expect(segments.length).toBeGreaterThan(1);
    expect(segmentsIn(indexOf(path, ref))).toEqual(expect.arrayContaining([...segments]));
    await write(two, ref, "add", row(ROWS));
    await expectSame(two, one, ref);
    expect(shared.errors()).toEqual([]);
  });

  it("have it again where the data folder is lost, and publish what they write then", async () => {
    const shared = cluster();
    const path = temporaryFolder();
    const first = await shared.open(path);
    const ref = await shared.published(first);
    const known = await shared.segments(ref);
    await shared.close(first);
    rmSync(path, { recursive: true });
    const again = await shared.open(path);
    const puts = asked("PUT", ".seg");
    expect(await again.count(ref, ALL)).toBe(ROWS);
    expect(segmentsIn(indexOf(path, ref))).toEqual(expect.arrayContaining([...known]));
    const more = Array.from({ length: ROWS }, (_, i) => row(ROWS + i));
    await write(again, ref, "add", ...more);
    await settled(shared, ref, 2 * ROWS - 32);
    expect(asked("PUT", ".seg")).toBeGreaterThan(puts);
    await expectSame(again, await shared.open(), ref);
  });

  it("fetch a file again that is damaged on their disk", async () => {
    const shared = cluster();
    const one = await shared.open();
    const ref = await shared.published(one);
    const path = temporaryFolder();
    const two = await shared.open(path);
    await two.count(ref, ALL);
    await shared.close(two);
    const index = indexOf(path, ref);
    const [name] = await shared.segments(ref);
    const whole = readFileSync(join(index, name!));
    // Of the part that is read at the opening.
    const damaged = Buffer.from(whole);
    damaged.fill(0, 0, 4_096);
    writeFileSync(join(index, name!), damaged);
    stores.server.calls.length = 0;
    await expectSame(one, await shared.open(path), ref);
    expect(asked("GET", name!)).toBeGreaterThan(0);
    expect(readFileSync(join(index, name!)).equals(whole)).toBe(true);
    expect(readdirSync(join(index, "quarantine"))).toEqual([expect.stringContaining(name!)]);
    expect(await shared.segments(ref)).toContain(name);
  });

  it("make of the records what a damaged object had, leave it where it is, and publish others", async () => {
    const shared = cluster();
    const one = await shared.open();
    const ref = await shared.published(one);
    await shared.close(one);
    const [bad, missing] = await shared.segments(ref);
    const bytes = flipped(await shared.object(bad!));
    await shared.replaceObject(bad!, bytes);
    await shared.store.remove(missing!);
    const two = await shared.open();
    expect(await idsOf(two, ref)).toEqual(Array.from({ length: ROWS }, (_, i) => `r${i}`));
    const errors = shared.errors().join("\n");
    for (const name of [bad!, missing!]) expect(errors).toContain(name);
    await expect.poll(() => shared.segments(ref)).not.toEqual(expect.arrayContaining([bad]));
    expect((await shared.object(bad!)).equals(bytes)).toBe(true);
    shared.log.length = 0;
    const three = await shared.open();
    await expectSame(two, three, ref);
    expect(shared.errors()).toEqual([]);
  });

  it("serve and write while the object store is away, also what they have not opened before", async () => {
    const shared = cluster();
    const one = await shared.open();
    const ref = await shared.published(one);
    const before = await shared.covers(ref);
    stores.server.fault = () => "busy";
    const two = await shared.open();
    for (const engine of [one, two]) {
      await write(
        engine,
        ref,
        "add",
        ...Array.from({ length: 100 }, (_, i) => row(engine === one ? 1_000 + i : 2_000 + i)),
      );
      expect(await nearest(engine, ref, 5)).toContain("r5");
    }
    await expectSame(one, two, ref);
    expect(await shared.covers(ref)).toBe(before);
    expect(shared.errors().join()).toContain("the object store cannot be used now");
    stores.server.fault = () => null;
    await settled(shared, ref, before + 100);
    await expectSame(one, await shared.open(), ref);
  });

  it("begin with what is published also where the log was trimmed beyond it", async () => {
    const shared = cluster({ checkpointAfterBytes: 20_000 });
    const one = await shared.open();
    const ref = await shared.published(one);
    // No more of the index; checkpoints are written.
    stores.server.fault = (call) => (call.startsWith("GET") || call.includes(".records") ? null : "busy");
    const covered = await shared.covers(ref);
    await remove(one, ref, "r3", "r200");
    const trimmed = async (): Promise<number> =>
      Number((await shared.rows("log_head", `collection = '${ref.id}'`))[0]!["trimmed_seq"]);
    for (let i = 0; (await trimmed()) <= covered + 2; i++)
      await write(one, ref, "upsert", {
        ...row(i % 50),
        document: "x".repeat(2_000),
        metadata: new Map([[`new-${i}`, 1n]]),
      });
    const known = await shared.segments(ref);
    const path = temporaryFolder();
    const two = await shared.open(path);
    await expectSame(one, two, ref);
    // Behind the calls.
    await expect.poll(() => segmentsIn(indexOf(path, ref))).toEqual(expect.arrayContaining([...known]));
    const key = { type: "compare", key: "new-1", operator: "$eq", value: 1n } as const;
    expect(await two.count(ref, { ids: null, where: key })).toBe(
      await one.count(ref, { ids: null, where: key }),
    );
  });

  it("fork without sending a file, and keep files for as long as one collection has them", async () => {
    const shared = cluster();
    const one = await shared.open();
    const ref = await shared.published(one);
    const segments = await shared.segments(ref);
    stores.server.calls.length = 0;
    const fork = { ...ref, id: (await one.forkCollection(ref, "forked")).id };
    expect(await shared.segments(fork)).toEqual(segments);
    expect(stores.server.calls).toEqual([]);
    await one.deleteCollection({ ...ref, name: (await one.getCollection(ref)).name });
    await expect.poll(() => shared.rows("manifest", `collection = '${ref.id}'`)).toEqual([]);
    await shared.sweep();
    const path = temporaryFolder();
    const two = await shared.open(path);
    await expectSame(one, two, fork);
    expect(segmentsIn(indexOf(path, fork))).toEqual(expect.arrayContaining([...segments]));
    await two.deleteCollection({ ...AT, name: "forked" });
    await expectNothingLeft(shared);
  });

  it("write a file under another name where its own was given up", async () => {
    const shared = cluster();
    const one = await shared.open();
    stores.server.fault = (call) => (call.startsWith("PUT") ? "busy" : null);
    const ref = await makeCollection(one);
    await write(one, ref, "add", ...Array.from({ length: ROWS }, (_, i) => row(i)));
    await expect.poll(() => shared.rows("segment")).not.toEqual([]);
    // As if its server had been dead for an hour.
    await shared.sweep();
    const spent = (await shared.rows("segment", "state = 'removed'")).map(({ id }) => id);
    expect(spent.length).toBeGreaterThan(0);
    stores.server.fault = () => null;
    await settled(shared, ref, ROWS - 32);
    for (const name of await shared.segments(ref)) expect(spent).not.toContain(name);
    await expectSame(one, await shared.open(), ref);
  });

  it("publish nothing that does not come back as it was sent", async () => {
    const shared = cluster();
    const one = await shared.open();
    let bad = "";
    stores.server.fault = (call) => {
      const name = call.startsWith("GET") ? (/[0-9a-f-]{36}\.seg/u.exec(call)?.[0] ?? "") : "";
      if (bad === "") bad = name;
      return name !== "" && name === bad ? "flip" : null;
    };
    const ref = await shared.published(one);
    expect(bad).not.toBe("");
    expect(await shared.segments(ref)).not.toContain(bad);
    expect(await shared.rows("segment", `id = '${bad}'`)).toMatchObject([{ state: "staged" }]);
    await expectSame(one, await shared.open(), ref);
  });

  it("publish one after another where several have news, and a sweep leaves what one of them has", async () => {
    const shared = cluster();
    const engines = [await shared.open(), await shared.open(), await shared.open()];
    const ref = await shared.published(engines[0]!);
    await Promise.all(
      engines.map(async (engine, e) => {
        for (let i = 0; i < 4; i++) {
          const from = 1_000 * (e + 1) + 60 * i;
          await write(engine, ref, "add", ...Array.from({ length: 60 }, (_, n) => row(from + n)));
        }
      }),
    );
    await settled(shared, ref, ROWS + 600);
    const [last] = engines.splice(2);
    for (const engine of engines) await shared.close(engine);
    const expected = await idsOf(last!, ref);
    expect(expected).toHaveLength(ROWS + 720);
    await shared.close(last!);
    await shared.sweep();
    expect(await idsOf(await shared.open(), ref)).toEqual(expected);
    expect(shared.errors()).toEqual([]);
  });

  it("are refused without a database, and where the object store is another machine without https", async () => {
    const objects = stores.server.settings();
    const dataFolder = temporaryFolder();
    await expect(createLocalEngine({ dataFolder, objects })).rejects.toMatchObject({
      code: "failed_precondition",
    });
    const plain = { ...objects, endpoint: "http://objects.example.org" };
    const refused = createLocalEngine({ dataFolder, database: stores.database.settings(), objects: plain });
    await expect(refused).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

describe("a prefix of an object store", () => {
  it("is of one database, and any other is refused by name and removes nothing", async () => {
    const shared = cluster();
    const one = await shared.open();
    const ref = await shared.published(one);
    const before = await shared.store.list("");
    const [{ id: own } = {}] = await shared.rows("cluster");
    expect(await shared.store.list("cluster/")).toEqual([`cluster/${String(own)}`]);
    const other = new ObjectCluster(stores.database.settings(), shared.objects);
    await expect(other.open()).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(`(cluster ${String(own)})`) as string,
    });
    const [{ id: another } = {}] = await other.rows("cluster");
    await expect(other.sweep({ listMs: 0 })).rejects.toMatchObject({ code: "failed_precondition" });
    expect(await shared.store.list("")).toEqual(before);
    expect(await shared.store.list("cluster/")).not.toContain(`cluster/${String(another)}`);
    expect(await nearest(await shared.open(), ref, 17)).toEqual(await nearest(one, ref, 17));
    await shared.sweep();
  });

  it("is the only one of its database", async () => {
    const shared = cluster();
    await shared.close(await shared.open());
    const elsewhere = new ObjectCluster(shared.database, { ...shared.objects, prefix: "elsewhere/" });
    await expect(elsewhere.open()).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("s3://sheaf-test/elsewhere/") as string,
    });
    expect(await elsewhere.store.list("cluster/")).toEqual([]);
    await shared.open();
  });

  it("is given to neither of two databases that begin at the same moment", async () => {
    const shared = cluster();
    const other = new ObjectCluster(stores.database.settings(), shared.objects);
    const raced = new PrefixOwner({
      ...{ manifests: shared.manifests, place: "s3://bucket/prefix" },
      store: {
        list: (start) => shared.store.list(start),
        remove: (name) => shared.store.remove(name),
        put: async (...object) => {
          await other.owner().require();
          await shared.store.put(...object);
        },
      },
    });
    await expect(raced.require()).rejects.toMatchObject({ code: "failed_precondition" });
    expect(await shared.store.list("cluster/")).toEqual([`cluster/${(await other.manifests.cluster()).id}`]);
  });

  it("is served while the store cannot be asked whose it is, and nothing is removed from it then", async () => {
    const shared = cluster();
    stores.server.fault = () => "busy";
    const engine = await shared.open();
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", row(0));
    expect(shared.log).toContainEqual(expect.objectContaining({ level: "warn" }));
    await expect(shared.sweep()).rejects.toMatchObject({ code: "unavailable" });
    stores.server.fault = () => null;
    await shared.sweep();
    expect(await shared.store.list("cluster/")).toHaveLength(1);
  });

  it("is rid of objects that no row knows, of records later than of indexes, and of nothing else", async () => {
    const shared = cluster();
    const engine = await shared.open();
    const ref = await shared.published(engine);
    await shared.close(engine);
    await shared.sweep();
    const kept = await shared.store.list("");
    const lost = ["seg", "dead", "records"].map((kind) => `${randomUUID()}.${kind}`);
    for (const name of [...lost, "notes.txt", "apart/a.seg"])
      await shared.replaceObject(name, Buffer.from(name));
    const later = { keepMs: 1e9 };
    await shared.sweep(later);
    expect(await shared.rows("segment", "bytes = 0")).toEqual([]);
    // This one finds them, the next one takes what nothing has referred to since then.
    await shared.sweep({ ...later, listMs: 0 });
    expect(await shared.store.list("")).toEqual([...kept, ...lost, "notes.txt"].toSorted());
    await shared.sweep(later);
    expect(await shared.store.list("")).toEqual([...kept, lost[2]!, "notes.txt"].toSorted());
    await shared.sweep();
    expect(await shared.store.list("")).toEqual([...kept, "notes.txt"].toSorted());
    expect(await shared.store.list("apart/")).toEqual(["apart/a.seg"]);
    expect(await idsOf(await shared.open(), ref)).toHaveLength(ROWS);
    expect(shared.errors()).toEqual([]);
  });
});

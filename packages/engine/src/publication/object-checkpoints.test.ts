/** Records of checkpoints in an object store: what a server finds that has nothing, and what is left of those before. */
import { rmSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import type { CollectionRef } from "@sheaf/protocol";
import { createHostedEngine } from "../host/create-hosted-engine.ts";
import type { Engine } from "../engine.ts";
import { createLocalEngine } from "../create-local-engine.ts";
import { idsOf, makeCollection, write } from "../testing/engine-fixtures.ts";
import { end } from "../testing/host-ends.ts";
import { INDEX, row } from "../testing/indexed-folder.ts";
import { dividing } from "../testing/dividing.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { ObjectCluster, expectNothingLeft, expectSame, flipped } from "./testing/object-cluster.ts";
import { StartedStores } from "./testing/started-stores.ts";

/** Of one write, so that each is worth a checkpoint. */
const LARGE = 40;
const checkpointAfterBytes = 20_000;
const PATIENCE = { timeout: 200_000 };

const PARTITIONS = 3;
const DIVIDED = [
  ["of one part", 1],
  ["in partitions", PARTITIONS],
] as const;

const stores = new StartedStores();

function cluster(): ObjectCluster {
  return new ObjectCluster(stores.database.settings(), stores.server.settings(), { checkpointAfterBytes });
}

async function headOf(shared: ObjectCluster, { id }: CollectionRef): Promise<Record<string, unknown>> {
  return (await shared.rows("log_head", `collection = '${id}'`))[0]!;
}

async function addLarge(engine: Engine, ref: CollectionRef, from: number): Promise<void> {
  const rows = Array.from({ length: LARGE }, (_, i) => ({
    ...row(from + i),
    document: `${from + i} `.repeat(200),
  }));
  await write(engine, ref, "add", ...rows);
}

/** Adds records until the log was trimmed to another checkpoint than this one; the name of its object. */
async function checkpointed(shared: ObjectCluster, engine: Engine, ref: CollectionRef): Promise<string> {
  const first = await engine.count(ref, { ids: null, where: null });
  const before = (await headOf(shared, ref))["checkpoint"];
  for (let from = first; ; from += LARGE) {
    await addLarge(engine, ref, from);
    const found = (await headOf(shared, ref))["checkpoint"];
    if (found !== before) return String(found);
  }
}

/** The log may be trimmed while a partition is read from it, which begins again then, and answers 503 until it has. */
function idsThere(engine: Engine, ref: CollectionRef): ReturnType<typeof idsOf> {
  return vi.waitFor(() => idsOf(engine, ref), { timeout: 30_000, interval: 50 });
}

/** Another checkpoint that is being written would take the place of the one that is looked at. */
async function nothingDue(shared: ObjectCluster, engine: Engine, ref: CollectionRef): Promise<void> {
  await expect
    .poll(async () => {
      // One that is due begins with a write.
      await write(engine, ref, "upsert", row(0));
      const { bytes, checkpoint_bytes: least } = await headOf(shared, ref);
      return Number(bytes) < Math.max(checkpointAfterBytes, Number(least));
    }, PATIENCE)
    .toBe(true);
}

/** Some written, some deleted, some changed before and after what is in the newest object. */
async function filled(shared: ObjectCluster, engine: Engine): Promise<[CollectionRef, string]> {
  const ref = await makeCollection(engine);
  await addLarge(engine, ref, 0);
  await engine.delete(ref, { ids: ["r3", "r9"], where: null, limit: null });
  const name = await checkpointed(shared, engine, ref);
  await engine.delete(ref, { ids: ["r5"], where: null, limit: null });
  await write(engine, ref, "update", { ...row(17), document: "changed" });
  await nothingDue(shared, engine, ref);
  return [ref, name];
}

describe("records of a checkpoint in an object store", () => {
  it("are all that a server has to read that has nothing, and none of them are in the database", async () => {
    const shared = cluster();
    const one = await shared.open();
    const [ref, name] = await filled(shared, one);
    expect(name).toMatch(/\.records$/u);
    const { trimmed_seq: trimmed } = await headOf(shared, ref);
    await expect.poll(() => shared.rows("log", `seq <= ${Number(trimmed)}`), PATIENCE).toEqual([]);
    expect(await shared.rows("log_head", "position('/' in collection) > 0")).toEqual([]);
    await shared.close(one);
    const [two, three] = [await shared.open(), await shared.open()];
    await expectSame(two, three, ref);
    const ids = await idsOf(two, ref);
    expect(ids).not.toEqual(expect.arrayContaining(["r3"]));
    expect(ids).toHaveLength(Number((await headOf(shared, ref))["kept_records"]));
    expect(shared.errors()).toEqual([]);
  });

  it("of a collection in partitions are read by each of these for its share alone", async () => {
    const shared = cluster();
    const one = dividing(await shared.open(), PARTITIONS);
    const ref = await makeCollection(one);
    const rows = Array.from({ length: 150 }, (_, i) => ({ ...row(i), document: `${i} `.repeat(4_500) }));
    await write(one, ref, "add", ...rows);
    await expect.poll(async () => (await headOf(shared, ref))["checkpoint"], PATIENCE).not.toBeNull();
    const name = String((await headOf(shared, ref))["checkpoint"]);
    const { length } = await shared.object(name);
    let read = 0;
    stores.server.pause = (call, range) => {
      const [, from = "0", to = "0"] = /^bytes=(\d*)-(\d*)$/u.exec(range) ?? [];
      if (call.startsWith("GET") && call.includes(name)) read += Number(to) - Number(from || "0");
      return null;
    };
    const two = await shared.open();
    const found = await idsOf(two, ref);
    stores.server.pause = () => null;
    expect(found).toEqual(await idsOf(one, ref));
    // It has the whole collection, too. Beside its share each reads the end of the file, and whole blocks with a checksum.
    expect(read).toBeGreaterThan(2 * length);
    expect(read).toBeLessThan(2.5 * length);
  });

  it("stay for a fork when their own collection is dropped, and go with the last one", async () => {
    const shared = cluster();
    const one = await shared.open();
    const [ref] = await filled(shared, one);
    const name = String((await headOf(shared, ref))["checkpoint"]);
    const expected = await idsOf(one, ref);
    const puts = stores.server.calls.filter((call) => call.includes(".records")).length;
    const fork = { ...ref, id: (await one.forkCollection(ref, "forked")).id };
    expect((await headOf(shared, fork))["checkpoint"]).toBe(name);
    expect(stores.server.calls.filter((call) => call.includes(".records"))).toHaveLength(puts);
    await one.deleteCollection({ ...ref, name: (await one.getCollection(ref)).name });
    await expect.poll(() => shared.rows("log_head", `collection = '${ref.id}'`)).toEqual([]);
    await shared.sweep();
    expect(await idsOf(await shared.open(), fork)).toEqual(expected);
    await one.deleteCollection({ ...fork, name: "forked" });
    await expectNothingLeft(shared);
  });

  it("stay for as long as backups of the database may refer to them, which serve what they hold", async () => {
    const shared = cluster();
    const one = await shared.open();
    const ref = await makeCollection(one);
    const name = await checkpointed(shared, one, ref);
    await nothingDue(shared, one, ref);
    const [head, log, batches] = [
      await shared.rows("log_head", `collection = '${ref.id}'`),
      await shared.rows("log", `collection = '${ref.id}'`),
      await shared.rows("log_batch", `collection = '${ref.id}'`),
    ];
    const kept = await shared.rows("segment_ref", `collection = '${ref.id}/records'`);
    expect(head[0]!["checkpoint"]).toBe(kept[0]!["segment"]);
    const then = await idsOf(await shared.open(), ref);
    const later = await checkpointed(shared, one, ref);
    expect(later).not.toBe(name);
    // An hour of those that nothing refers to is long over, a week is not.
    await shared.sweep({ keepMs: 1e9 });
    expect(await shared.store.list("")).toEqual(expect.arrayContaining([String(head[0]!["checkpoint"])]));
    await shared.setBack(ref, { head, log, batches });
    const path = temporaryFolder();
    expect(await idsOf(await shared.open(path), ref)).toEqual(then);
    // The server that went on finds that its view is of no state of the log.
    await expect.poll(() => idsOf(one, ref).catch(String)).toEqual(then);
  });

  it.each(DIVIDED)(
    "that are damaged or missing make their collection %s unavailable, and nothing else",
    async (_in, partitions) => {
      const shared = cluster();
      const path = temporaryFolder();
      const one = dividing(await shared.open(path), partitions);
      const [ref] = await filled(shared, one);
      const [other] = await filled(shared, one);
      const expected = await idsOf(one, ref);
      const name = String((await headOf(shared, ref))["checkpoint"]);
      const whole = await shared.object(name);
      await shared.replaceObject(name, flipped(whole));
      const two = await shared.open();
      // The doctor knows nothing of what is in a database or an object store.
      const refused = { code: "collection_unavailable", message: expect.not.stringContaining("doctor") };
      const told = (): string => shared.log.map(({ error }) => error).join("\n");
      await expect(idsOf(two, ref)).rejects.toMatchObject(refused);
      expect(told()).toContain(name);
      expect(await idsOf(two, other)).toEqual(await idsOf(one, other));
      await shared.store.remove(name);
      await expect(idsOf(two, ref)).rejects.toMatchObject(refused);
      // Who has the records serves them.
      expect(await idsOf(one, ref)).toEqual(expected);
      await shared.replaceObject(name, whole);
      await expect.poll(() => idsOf(two, ref).catch(String), { timeout: 30_000 }).toEqual(expected);
    },
  );

  it("are waited for while the object store is away, and writes go on where the records are", async () => {
    const shared = cluster();
    const one = await shared.open();
    const [ref] = await filled(shared, one);
    // It asks again although nobody needs anything of it.
    const idle = await shared.open(undefined, "all", { lookMs: 50 });
    for (const fault of ["denied", "busy"] as const) {
      stores.server.fault = () => fault;
      await expect(idsOf(idle, ref)).rejects.toMatchObject({ code: "unavailable" });
      const two = await shared.open();
      await expect(idsOf(two, ref)).rejects.toMatchObject({
        ...{ code: "unavailable", message: "the object store cannot be used now" },
      });
      expect((await two.statistics()).databaseObjectsFailing).toBe(1);
    }
    await addLarge(one, ref, 10_000);
    await addLarge(one, ref, 20_000);
    const failing = async (): Promise<number> => (await idle.statistics()).databaseObjectsFailing;
    expect(await failing()).toBe(1);
    stores.server.fault = () => null;
    await expect.poll(failing).toBe(0);
    const expected = await idsOf(one, ref);
    const three = await shared.open();
    expect(await idsOf(three, ref)).toEqual(expected);
    expect((await three.statistics()).databaseObjectsFailing).toBe(0);
  });

  it("are not read by a server without the object store, which says so", async () => {
    const shared = cluster();
    const open = (): Promise<Engine> =>
      createLocalEngine({ dataFolder: temporaryFolder(), database: shared.database });
    const alone = await open();
    try {
      const [ref] = await filled(shared, await shared.open());
      const words = expect.stringContaining("--objects");
      await expect(idsOf(alone, ref)).rejects.toMatchObject({ code: "unavailable", message: words });
      await expect(open()).rejects.toMatchObject({ code: "failed_precondition", message: words });
    } finally {
      await alone.close();
    }
  });

  it.each([
    ["PUT", "lost", 1],
    ["GET", "cut", 1],
    ["GET", "cut", PARTITIONS],
  ] as const)(
    "are whole where their writer is killed at a %s that is %s, and nothing is left over, in %i partitions",
    async (method, answer, partitions) => {
      const shared = cluster();
      const dataFolder = temporaryFolder();
      const ref = await makeCollection(dividing(await shared.open(), partitions));
      const { objects } = shared;
      const host = await createHostedEngine({ dataFolder, database: shared.database, index: INDEX, objects });
      let isKilled = false;
      const isAlive = (): boolean => !isKilled;
      stores.server.fault = (call) => {
        if (isKilled || !call.startsWith(method) || !call.includes(".records")) return null;
        isKilled = true;
        end(host, "SIGKILL");
        return answer;
      };
      const acknowledged: string[] = [];
      for (let from = 0; isAlive(); from += LARGE) {
        const isDone = await addLarge(host, ref, from).then(
          () => true,
          () => false,
        );
        if (isDone) acknowledged.push(...Array.from({ length: LARGE }, (_, i) => `r${from + i}`));
      }
      await host.close();
      stores.server.fault = () => null;
      rmSync(dataFolder, { recursive: true });
      const next = await shared.open();
      expect(await idsThere(next, ref)).toEqual(expect.arrayContaining(acknowledged));
      const name = await checkpointed(shared, next, ref);
      const expected = await idsThere(next, ref);
      await shared.close(next);
      await shared.sweep();
      const records = (await shared.store.list("")).filter((one) => one.endsWith(".records"));
      expect(records).toEqual([String((await headOf(shared, ref))["checkpoint"])]);
      expect(name).toMatch(/\.records$/u);
      expect(await idsThere(await shared.open(), ref)).toEqual(expected);
    },
  );
});

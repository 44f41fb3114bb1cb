/** Index nodes on one database and one object store with search nodes, which leave to them what any server could do. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { CollectionRef } from "@sheaf/protocol";
import type { Engine } from "../engine.ts";
import { createHostedEngine } from "../host/create-hosted-engine.ts";
import type { HostedEngine } from "../host/hosted-engine.ts";
import { createLocalEngine } from "../create-local-engine.ts";
import { idsOf, makeCollection, write } from "../testing/engine-fixtures.ts";
import { end } from "../testing/host-ends.ts";
import { INDEX, ROWS, row } from "../testing/indexed-folder.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { ObjectCluster, expectSame, indexOf, segmentsIn, settled } from "./testing/object-cluster.ts";
import { StartedStores } from "./testing/started-stores.ts";

const CLAIM_MS = 800;
/** All but what stays in memory. */
const SEALED = ROWS - INDEX.sizes.sizes.mutableRows;
/** Of what is sure to be left to others. */
const LEFT_FOR_MS = 2_000;

const stores = new StartedStores();

/** Index nodes have an hour for what is due. */
function cluster(leftMs = 3_600_000, checkpointAfterBytes = 1e9): ObjectCluster {
  const publication = { claimMs: CLAIM_MS, leftMs };
  return new ObjectCluster(stores.database.settings(), stores.server.settings(), {
    ...{ publication, checkpointAfterBytes },
  });
}

async function openSearchNode(shared: ObjectCluster, path = temporaryFolder()): Promise<Engine> {
  return shared.open(path, "search");
}

async function leaves(engine: Engine, expected: boolean): Promise<void> {
  await expect.poll(async () => (await engine.statistics()).databaseLeftToIndexNodes).toBe(Number(expected));
}

async function writeRows(engine: Engine, ref: CollectionRef, from = 0): Promise<void> {
  await write(engine, ref, "add", ...Array.from({ length: ROWS }, (_, i) => row(from + i)));
}

async function openIndexHost(shared: ObjectCluster): Promise<HostedEngine> {
  const engine = await createHostedEngine({
    ...{ dataFolder: temporaryFolder(), database: { ...shared.database, role: "index" } },
    ...{ objects: shared.objects, index: INDEX },
  });
  onTestFinished(() => engine.close());
  return engine;
}

/** Resolves once an index node has asked the object store for so many requests about index files, with a signal to its host. */
function signalAt(host: HostedEngine, signal: NodeJS.Signals, number: number): Promise<void> {
  let seen = 0;
  return new Promise((resolve) => {
    stores.server.fault = (call) => {
      if (!call.includes(".seg") || seen++ !== number) return null;
      end(host, signal);
      stores.server.fault = () => null;
      resolve();
      return signal === "SIGKILL" ? "cut" : null;
    };
  });
}

describe("an index node", () => {
  it("publishes what search nodes write and trims their logs, and they have it from there", async () => {
    const shared = cluster(undefined, 20_000);
    const [searching, indexing] = [temporaryFolder(), temporaryFolder()];
    const index = await shared.open(indexing, "index");
    const search = await openSearchNode(shared, searching);
    await leaves(search, true);
    const ref = await makeCollection(search);
    await writeRows(search, ref);
    await settled(shared, ref, SEALED);
    let published: readonly string[] = [];
    // It may put segments together once more, and publishes those a moment later.
    const areItsOwn = async (): Promise<boolean> => {
      const made = segmentsIn(indexOf(indexing, ref));
      published = await shared.segments(ref);
      return published.every((name) => made.includes(name));
    };
    await expect.poll(areItsOwn).toBe(true);
    const own = segmentsIn(indexOf(searching, ref));
    expect(published.filter((name) => own.includes(name))).toEqual([]);
    const head = async () => (await shared.rows("log_head", `collection = '${ref.id}'`))[0]!;
    await expect.poll(async () => String((await head())["checkpoint"])).toMatch(/\.records$/u);
    // Somebody who has nothing, and somebody whose own index is older.
    const other = await openSearchNode(shared);
    await expectSame(search, other, ref);
    await shared.close(search);
    await writeRows(other, ref, ROWS);
    await settled(shared, ref, ROWS + SEALED);
    await shared.close(index);
    await expectSame(other, await openSearchNode(shared, searching), ref);
    expect(segmentsIn(indexOf(searching, ref))).toEqual(
      expect.arrayContaining([...(await shared.segments(ref))]),
    );
    expect(await shared.rows("node")).toEqual([]);
    expect(shared.errors()).toEqual([]);
  });

  it("that says nothing any more is done without: search nodes publish, and write checkpoints, themselves", async () => {
    const shared = cluster(undefined, 20_000);
    const sign = (): Promise<void> =>
      shared.change(
        (schema) => `insert into ${schema}.node (id, url, role) values ('gone', 'gone', 'index')
          on conflict (id) do update set seen = now()`,
      );
    const search = await openSearchNode(shared);
    await sign();
    const signs = setInterval(() => void sign(), CLAIM_MS / 8);
    onTestFinished(() => clearInterval(signs));
    await leaves(search, true);
    const ref = await makeCollection(search);
    await writeRows(search, ref);
    await sleep(LEFT_FOR_MS);
    expect(await shared.segments(ref)).toEqual([]);
    // A log that is left to others grows to twice the size.
    const head = async () => (await shared.rows("log_head", `collection = '${ref.id}'`))[0]!;
    while (Number((await head())["bytes"]) < 35_000) await write(search, ref, "upsert", row(1));
    expect((await head())["checkpoint"]).toBeNull();
    while (Number((await head())["bytes"]) < 40_000) await write(search, ref, "upsert", row(1));
    await expect.poll(async () => String((await head())["checkpoint"])).toMatch(/\.records$/u);
    expect(await shared.segments(ref)).toEqual([]);
    clearInterval(signs);
    await leaves(search, false);
    await settled(shared, ref, SEALED);
    expect(shared.errors()).toEqual([]);
  });

  it("that lives and does nothing is done without after a while", async () => {
    const shared = cluster(LEFT_FOR_MS);
    const search = await openSearchNode(shared);
    await shared.change(
      (schema) => `insert into ${schema}.node (id, url, role, seen)
        values ('idle', 'idle', 'index', now() + interval '1 hour')`,
    );
    await leaves(search, true);
    const ref = await makeCollection(search);
    await writeRows(search, ref);
    await settled(shared, ref, SEALED);
    await leaves(search, true);
    expect(await shared.rows("index_job")).toEqual([]);
  });

  it("that is paused or killed while it makes objects leaves the job to another one", async () => {
    const shared = cluster();
    const search = await openSearchNode(shared);
    const ref = await makeCollection(search);
    const host = await openIndexHost(shared);
    await leaves(search, true);
    const paused = signalAt(host, "SIGSTOP", 1);
    await writeRows(search, ref);
    await paused;
    const other = await shared.open(temporaryFolder(), "index");
    await settled(shared, ref, SEALED);
    await shared.close(other);
    // It meets what the other one has made, and goes on.
    end(host, "SIGCONT");
    const killed = signalAt(host, "SIGKILL", 1);
    await writeRows(search, ref, ROWS);
    await killed;
    await host.close();
    const third = await shared.open(temporaryFolder(), "index");
    await settled(shared, ref, ROWS + SEALED);
    for (const engine of [third, search]) await shared.close(engine);
    await shared.sweep();
    const referred = (await shared.rows("segment_ref")).map(({ segment }) => String(segment));
    expect(await shared.store.list("")).toEqual(referred.toSorted());
    expect(await idsOf(await shared.open(), ref)).toHaveLength(2 * ROWS);
    expect(shared.errors()).toEqual([]);
  });

  it("shares the work with others, and needs an object store", async () => {
    const shared = cluster();
    const search = await openSearchNode(shared);
    const refs: CollectionRef[] = [];
    for (let i = 0; i < 4; i++) refs.push(await makeCollection(search));
    const nodes = [
      await shared.open(temporaryFolder(), "index"),
      await shared.open(temporaryFolder(), "index"),
    ];
    await leaves(search, true);
    for (const ref of refs) await writeRows(search, ref);
    for (const ref of refs) await settled(shared, ref, SEALED);
    const workers = (await shared.rows("index_job")).map(({ node }) => node);
    expect(new Set(workers).size).toBe(nodes.length);
    const database = { ...shared.database, role: "index" } as const;
    await expect(createLocalEngine({ dataFolder: temporaryFolder(), database })).rejects.toMatchObject({
      code: "failed_precondition",
    });
    expect(shared.errors()).toEqual([]);
  });
});

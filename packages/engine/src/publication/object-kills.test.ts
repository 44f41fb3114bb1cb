/**
 * An engine host that publishes or sweeps is killed at each of its requests to the object store, before the store has seen it
 * or before it is answered: what was published is whole, others go on, and in the end nothing is left over.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { createHostedEngine } from "../host/create-hosted-engine.ts";
import type { HostedEngine } from "../host/hosted-engine.ts";
import type { Fault } from "../storage/objects/testing/object-server.ts";
import { idsOf, makeCollection, write } from "../testing/engine-fixtures.ts";
import { end } from "../testing/host-ends.ts";
import { INDEX, ROWS, row } from "../testing/indexed-folder.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import type { PublicationLimits } from "./published-indexes.ts";
import { ObjectCluster, expectSame, settled } from "./testing/object-cluster.ts";
import { StartedStores } from "./testing/started-stores.ts";

/** Before the first byte is sent, before and after it is there, while it is read back, at a later file. */
const KILLS = [
  [0, "cut"],
  [1, "cut"],
  [1, "lost"],
  [2, "cut"],
  [5, "lost"],
] as const;

const stores = new StartedStores();

interface Opening extends Partial<PublicationLimits> {
  readonly dataFolder?: string;
}

async function openHost(
  shared: ObjectCluster,
  { dataFolder = temporaryFolder(), ...publication }: Opening = {},
): Promise<HostedEngine> {
  const engine = await createHostedEngine({
    ...{ dataFolder, database: shared.database, index: INDEX },
    objects: { ...shared.objects, publication: { ...shared.objects.publication, ...publication } },
  });
  onTestFinished(() => engine.close());
  return engine;
}

interface Moment {
  /** Of the calls of this kind, which one. */
  readonly kind: RegExp;
  readonly number: number;
  readonly answer: Fault | null;
}

/** Sends the host a signal then. Resolves to the call. */
function signalAt(
  engine: HostedEngine,
  signal: NodeJS.Signals,
  { kind, number, answer }: Moment,
): Promise<string> {
  let seen = 0;
  return new Promise((resolve) => {
    stores.server.fault = (call) => {
      if (!kind.test(call) || seen++ !== number) return null;
      end(engine, signal);
      stores.server.fault = () => null;
      resolve(call);
      return answer;
    };
  });
}

describe("an engine host", () => {
  it("that is killed while it publishes leaves what was acknowledged and published, and nothing to remove in the end", async () => {
    const shared = new ObjectCluster(stores.database.settings(), stores.server.settings());
    const dataFolder = temporaryFolder();
    const other = await shared.open();
    const killed = new Set<string>();
    for (const [number, answer] of KILLS) {
      const host = await openHost(shared, { dataFolder });
      const ref = await makeCollection(host);
      const killing = signalAt(host, "SIGKILL", { kind: /\.seg/u, number, answer });
      const rows = Array.from({ length: ROWS }, (_, i) => row(i));
      const isWritten = await write(host, ref, "upsert", ...rows).then(
        () => true,
        () => false,
      );
      killed.add((await killing).split(" ")[0]!);
      await host.close();
      // Segments are sealed, and published, before the write of them is acknowledged.
      if (!isWritten) await write(other, ref, "upsert", ...rows);
      expect(await idsOf(other, ref)).toHaveLength(ROWS);
      await settled(shared, ref, ROWS - INDEX.sizes.sizes.mutableRows);
    }
    expect([...killed].toSorted()).toEqual(["GET", "HEAD", "PUT"]);
    await shared.close(other);
    await shared.sweep();
    const referred = await shared.rows("segment_ref");
    expect(await shared.store.list("")).toEqual(referred.map(({ segment }) => String(segment)).toSorted());
    const fresh = await shared.open();
    for (const { collection } of await shared.rows("manifest")) {
      const ref = { tenant: "default_tenant", database: "default_database", id: String(collection) };
      expect(await idsOf(fresh, ref)).toEqual(Array.from({ length: ROWS }, (_, i) => `r${i}`));
    }
    expect(shared.errors()).toEqual([]);
  });

  it.each([0, 1, 4])("that is stopped at request %i and goes on later starts over", async (number) => {
    const shared = new ObjectCluster(stores.database.settings(), stores.server.settings());
    const host = await openHost(shared);
    const ref = await makeCollection(host);
    const stopping = signalAt(host, "SIGSTOP", { kind: /\.seg/u, number, answer: null });
    const writing = write(host, ref, "add", ...Array.from({ length: ROWS }, (_, i) => row(i)));
    await stopping;
    // As if it were an hour later.
    await shared.sweep();
    const other = await shared.open();
    expect(await idsOf(other, ref)).toHaveLength(ROWS);
    await settled(shared, ref, ROWS - INDEX.sizes.sizes.mutableRows);
    end(host, "SIGCONT");
    await writing;
    await write(host, ref, "add", ...Array.from({ length: ROWS }, (_, i) => row(ROWS + i)));
    await settled(shared, ref, 2 * ROWS - INDEX.sizes.sizes.mutableRows);
    await expectSame(host, other, ref);
    await host.close();
    await shared.close(other);
    await shared.sweep();
    expect(await idsOf(await shared.open(), ref)).toHaveLength(2 * ROWS);
    expect(shared.errors()).toEqual([]);
  });

  it("that is killed while it sweeps leaves the rest to the next one", async () => {
    const shared = new ObjectCluster(stores.database.settings(), stores.server.settings());
    const engine = await shared.open();
    const [dropped, kept] = [await shared.published(engine), await shared.published(engine)];
    await engine.deleteCollection({ ...dropped, name: (await engine.getCollection(dropped)).name });
    await shared.close(engine);
    const sweeping = { dataFolder: temporaryFolder(), graceMs: 1, sweepMs: 20 };
    for (const answer of ["cut", "lost"] as const) {
      stores.server.fault = (call) => (call.startsWith("DELETE") ? "busy" : null);
      const host = await openHost(shared, sweeping);
      await signalAt(host, "SIGKILL", { kind: /^DELETE/u, number: 0, answer });
      await host.close();
    }
    await openHost(shared, sweeping);
    await expect
      .poll(() => shared.rows("segment", "state <> 'live'"))
      .toEqual(expect.not.arrayContaining([expect.objectContaining({ state: "doomed" })]));
    const segments = await shared.rows("segment_ref");
    await expect.poll(() => shared.store.list("")).toHaveLength(segments.length);
    expect(segments.every(({ collection }) => collection === kept.id)).toBe(true);
    expect(await idsOf(await shared.open(), kept)).toHaveLength(ROWS);
    expect(shared.errors()).toEqual([]);
  });
});

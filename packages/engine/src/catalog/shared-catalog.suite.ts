/** Two catalogs over one store, as two servers over one database: neither is told what the other does. */
import { randomUUID } from "node:crypto";
import {
  Cancellation,
  type CreateCollection,
  DEFAULT_DATABASE,
  DEFAULT_TENANT,
  SheafError,
} from "@sheaf/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";
import { Catalog } from "./catalog.ts";

export interface SharedCatalogSuite {
  readonly name: string;
  /** Two that have the same entries, or one twice; empty. */
  readonly open: () => readonly [CatalogStore, CatalogStore];
}

const HOME = { tenant: DEFAULT_TENANT, database: DEFAULT_DATABASE };
const ALL = { limit: null, offset: 0 };

/** Commits reach it late, so that those of two servers meet. */
function makeLate(store: CatalogStore, onConflict: () => void): void {
  const commit = store.commit.bind(store);
  store.commit = async (...sent) => {
    await new Promise(setImmediate);
    const outcome = await commit(...sent);
    if (outcome === "conflict") onConflict();
    return outcome;
  };
}

function request(name: string, database = DEFAULT_DATABASE): CreateCollection {
  const rest = { metadata: null, configuration: {}, schema: {}, getOrCreate: false };
  return { tenant: DEFAULT_TENANT, database, name, ...rest };
}

export function sharedCatalogSuite({ name, open: openStores }: SharedCatalogSuite): void {
  describe(`two catalogs over one ${name}`, () => {
    let stores: ReadonlySet<CatalogStore> = new Set();
    let conflicts = 0;
    let one: Catalog;
    let other: Catalog;

    const close = async (): Promise<void> => {
      for (const store of stores) await store.close();
      stores = new Set();
    };
    const open = async (quotas = { databases: 0, collections: 0, keys: 0 }): Promise<void> => {
      await close();
      const [first, second] = openStores();
      stores = new Set([first, second]);
      conflicts = 0;
      for (const store of stores) makeLate(store, () => void (conflicts += 1));
      one = await Catalog.open(first, { quotas, cache: randomUUID() });
      other = await Catalog.open(second, { quotas, cache: randomUUID() });
    };
    const namesIn = async (database = DEFAULT_DATABASE): Promise<readonly string[]> =>
      (await one.collections({ ...HOME, database }, ALL)).items.map(({ name }) => name);

    beforeEach(() => open());
    afterEach(() => close());

    it("have a collection opened at a start by the one that wrote to it last, and know both that it is due", async () => {
      const { id } = await one.createCollection(request("written"));
      await one.checkpoints.markDirty(id);
      expect(await one.checkpoints.dirtyCollections()).toEqual([id]);
      expect(await other.checkpoints.dirtyCollections()).toEqual([]);
      expect(await other.checkpoints.isDirty(id)).toBe(true);
      await other.checkpoints.advance(id, { dimension: 2, dirty: true });
      expect(await one.checkpoints.dirtyCollections()).toEqual([]);
      expect(await other.checkpoints.dirtyCollections()).toEqual([id]);
    });

    it("are both opened where one makes the defaults between two reads of the other", async () => {
      await close();
      const [first, second] = openStores();
      stores = new Set([first, second]);
      const get = second.get.bind(second);
      let isBetween = true;
      second.get = async (key) => {
        const value = await get(key);
        if (!isBetween) return value;
        isBetween = false;
        await Catalog.open(first);
        return value;
      };
      const opened = await Catalog.open(second);
      expect((await opened.database(HOME)).name).toBe(DEFAULT_DATABASE);
    });

    it("delete by name what has the id that is meant, and nothing that was made anew under the name", async () => {
      const { id } = await one.createCollection(request("notes"));
      await other.deleteCollection({ ...HOME, name: "notes", onlyId: id });
      const again = await other.createCollection(request("notes"));
      const late = one.deleteCollection({ ...HOME, name: "notes", onlyId: id });
      await expect(late).rejects.toMatchObject({ message: "Collection [notes] does not exist" });
      expect((await one.collectionByName({ ...HOME, name: "notes" })).id).toBe(again.id);
      const ref = { ...HOME, database: "made-anew" };
      await one.createDatabase(ref);
      const first = await one.database(ref);
      await other.deleteDatabase({ ...ref, onlyId: first.id });
      await other.createDatabase(ref);
      await expect(one.deleteDatabase({ ...ref, onlyId: first.id })).rejects.toMatchObject({
        message: "Database [made-anew] not found",
      });
      expect((await one.database(ref)).name).toBe("made-anew");
    });

    it("change nothing for a caller that has gone, also where they have to plan again", async () => {
      const [first] = stores;
      const caller = new Cancellation();
      const store = first!;
      await one.createTenant("acme");
      const commit = store.commit.bind(store);
      store.commit = async (change) => {
        store.commit = commit;
        // The other one is faster, and the caller hears 503 meanwhile.
        await other.deleteTenant("acme");
        await other.createTenant("acme");
        await other.createDatabase({ tenant: "acme", database: "notes" });
        caller.abort(new SheafError("cancelled", "the caller has gone"));
        return commit(change);
      };
      const late = one.deleteTenant("acme", caller);
      const beside = one.createTenant("beside");
      await expect(late).rejects.toMatchObject({ code: "cancelled" });
      await beside;
      expect(await one.tenant("acme")).toMatchObject({ name: "acme" });
      await expect(one.reset(caller)).rejects.toMatchObject({ code: "cancelled" });
      expect(await one.tenant("beside")).toMatchObject({ name: "beside" });
    });

    it("hear which callers have gone before they plan", async () => {
      const [first] = stores;
      const caller = new Cancellation();
      const callersWait = async (): Promise<void> => caller.abort(new SheafError("cancelled", "gone"));
      const asking = await Catalog.open(first!, { cache: randomUUID(), callersWait });
      await one.createTenant("acme");
      const source = await one.createCollection(request("source"));
      const fork = { ...{ id: randomUUID(), epoch: randomUUID() }, ...{ name: "copy", shared: false } };
      const limits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
      const bound = { tenant: null, database: null, scopes: [], limits, lastUsed: null, replacedBy: null };
      const key = { ...bound, ...{ id: "early", digest: "01", name: "a key", created: 1, expires: null } };
      const replacement = { id: "late", digest: "02", created: 1, expires: undefined, oldExpires: 1 };
      await one.keys.create(key);
      const late = [
        () => asking.deleteTenant("acme", caller),
        () => asking.createTenant("late", caller),
        () => asking.createDatabase({ tenant: "acme", database: "late" }, caller),
        () => asking.createFork(source, { ...fork, dimension: null, logPosition: 0 }, caller),
        () => asking.keys.create({ ...key, id: "late", digest: "02" }, caller),
        () => asking.keys.rotate("early", replacement, caller),
        () => asking.keys.delete("early", caller),
      ];
      for (const change of late) await expect(change()).rejects.toMatchObject({ code: "cancelled" });
      expect(await one.tenant("acme")).toMatchObject({ name: "acme" });
      await expect(one.tenant("late")).rejects.toMatchObject({ code: "not_found" });
      expect(await namesIn()).toEqual(["source"]);
      const { items } = await one.keys.list({ limit: null, offset: 0 });
      expect(items).toEqual([key]);
    });

    it("commit nothing that was planned before a standstill, though others have changed it back", async () => {
      const [first] = stores;
      const caller = new Cancellation();
      let wanted: Promise<void> | undefined;
      const asking = await Catalog.open(first!, { cache: randomUUID(), callersWait: () => wanted });
      const commit = first!.commit.bind(first);
      first!.commit = async (...sent) => {
        first!.commit = commit;
        await other.createTenant("late");
        await other.deleteTenant("late");
        wanted = Promise.resolve().then(() => {
          wanted = undefined;
          caller.abort(new SheafError("cancelled", "gone"));
        });
        return commit(...sent);
      };
      await expect(asking.createTenant("late", caller)).rejects.toMatchObject({ code: "cancelled" });
      await expect(other.tenant("late")).rejects.toMatchObject({ code: "not_found" });
    });

    it("make collections at once, none of them twice and none lost", async () => {
      const made = Array.from({ length: 20 }, (_, i) =>
        [one, other].map((catalog, j) => catalog.createCollection(request(`c${i}-${j}`))),
      ).flat();
      const both = await Promise.allSettled(
        [one, other].map((catalog) => catalog.createCollection(request("same"))),
      );
      await Promise.all(made);
      expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(both.find(({ status }) => status === "rejected")).toMatchObject({
        reason: { code: "already_exists" },
      });
      expect(new Set(await namesIn()).size).toBe(41);
      expect(await one.countCollections(HOME)).toBe(41);
      expect(conflicts).toBeGreaterThan(0);
    });

    it("see soon what the other has changed", async () => {
      const { id } = await one.createCollection(request("before"));
      const ref = { ...HOME, id };
      expect((await other.collection(ref)).name).toBe("before");
      await one.updateCollection(ref, { name: "after" });
      await expect.poll(async () => (await other.collection(ref)).name).toBe("after");
      await one.deleteCollection({ ...HOME, name: "after" });
      await expect
        .poll(() => other.collection(ref).catch((error: unknown) => error))
        .toMatchObject({ code: "not_found" });
    });

    it("remove a database while the other fills it, and leave nothing of it", async () => {
      for (let round = 0; round < 10; round++) {
        const database = `d${round}`;
        await one.createDatabase({ ...HOME, database });
        await one.createCollection(request("first", database));
        const made = Array.from({ length: 5 }, (_, i) => other.createCollection(request(`c${i}`, database)));
        const [removed, ...outcomes] = await Promise.allSettled([
          one.deleteDatabase({ ...HOME, database }),
          ...made,
        ]);
        const count = outcomes.filter(({ status }) => status === "fulfilled").length;
        const ids = removed.status === "fulfilled" ? removed.value : [];
        // Those that the other made before are among the removed ones.
        expect(ids).toHaveLength(1 + count);
        expect(await one.collectionCount()).toBe(0);
      }
    });

    it("rename a collection while the other removes its database", async () => {
      for (let round = 0; round < 10; round++) {
        const database = `d${round}`;
        await one.createDatabase({ ...HOME, database });
        const { id } = await one.createCollection(request("before", database));
        await Promise.allSettled([
          other.updateCollection({ ...HOME, database, id }, { name: "after" }),
          one.deleteDatabase({ ...HOME, database }),
        ]);
        expect(await one.mentions(id)).toBe(false);
      }
    });

    it("keep a quota together", async () => {
      await open({ databases: 3, collections: 5, keys: 0 });
      const attempt = (i: number): Promise<unknown> =>
        [one, other][i % 2]!.createCollection(request(`c${i}`)).catch((error: unknown) => error);
      const outcomes = await Promise.all(Array.from({ length: 12 }, (_, i) => attempt(i)));
      expect(outcomes.filter((outcome) => outcome instanceof Error)).toHaveLength(7);
      expect(await one.countCollections(HOME)).toBe(5);
      const databases = await Promise.allSettled(
        Array.from({ length: 6 }, (_, i) =>
          [one, other][i % 2]!.createDatabase({ ...HOME, database: `d${i}` }),
        ),
      );
      expect(databases.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    });

    it("count keys together", async () => {
      const key = (i: number) => ({
        ...{
          id: `key_${i}`,
          digest: `${i}`.padStart(64, "0"),
          name: "k",
          tenant: DEFAULT_TENANT,
          database: null,
        },
        ...{ scopes: ["read"] as const, created: i, expires: null, lastUsed: null, replacedBy: null },
        limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null },
      });
      await Promise.all(Array.from({ length: 12 }, (_, i) => [one, other][i % 2]!.keys.create(key(i))));
      const listed = (await other.keys.list(ALL)).items;
      expect(listed.map(({ id }) => id)).toEqual(Array.from({ length: 12 }, (_, i) => `key_${i}`));
      await Promise.all(listed.map(({ id }, i) => [one, other][i % 2]!.keys.delete(id)));
      expect((await one.keys.list(ALL)).items).toEqual([]);
      expect(await one.keys.findByDigests([key(1).digest])).toEqual([null]);
    });

    it("start over together", async () => {
      await Promise.all(Array.from({ length: 6 }, (_, i) => other.createCollection(request(`c${i}`))));
      const [ids] = await Promise.all([
        one.reset(),
        other.createTenant("acme").catch(() => undefined),
        other.createCollection(request("late")).catch(() => undefined),
      ]);
      expect(ids.length).toBeGreaterThanOrEqual(6);
      const left = await namesIn();
      expect([[], ["late"]]).toContainEqual(left);
      expect(await one.collectionCount()).toBe(left.length);
    });
  });
}

import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type CollectionRef, parseCreateCollection } from "@sheaf/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine, StoredKey } from "../engine.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { AT, makeCollection, readAll, write } from "../testing/engine-fixtures.ts";
import { ALL, INDEX, IndexedFolder, ROWS, row } from "../testing/indexed-folder.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { type BackedUpCollection, readCollections, readHeader } from "./backup-files.ts";
import type { BackupRequest } from "./make-backup.ts";
import { restoreBackup } from "./restore-backup.ts";
import { verifyBackup } from "./verify-backup.ts";

const target = (): string => join(temporaryFolder(), "backup");
const request = (to: string, more: Partial<BackupRequest> = {}): BackupRequest => ({
  ...{ target: to, base: null, tenant: null, keys: false },
  ...more,
});
/** Files of a backup that are not of one collection; the first pack has the catalog. */
const NAMELESS = /^(?:backup\.json|collections\.jsonl|packs\/000001$)/u;
const EVERYTHING = { ids: null, where: null };

async function restoredFolder(backup: string, tenant: string | null = null): Promise<string> {
  const dataFolder = join(temporaryFolder(), "data");
  await restoreBackup({ backup, dataFolder, tenant });
  return dataFolder;
}

async function restored(backup: string, tenant: string | null = null): Promise<Engine> {
  const engine = await createLocalEngine({ dataFolder: await restoredFolder(backup, tenant), index: INDEX });
  onTestFinished(() => engine.close());
  return engine;
}

async function written(engine: Engine): Promise<CollectionRef> {
  const ref = await makeCollection(engine);
  await write(engine, ref, "add", ...ALL.map(row));
  return ref;
}

async function listed(backup: string): Promise<readonly BackedUpCollection[]> {
  const collections: BackedUpCollection[] = [];
  const header = await readHeader(backup);
  for await (const collection of readCollections({ folder: backup, header })) collections.push(collection);
  return collections;
}

function keyOf(tenant: string, id = `key-${tenant}`): StoredKey {
  const digest = createHash("sha256").update(id).digest("hex");
  const limits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
  const times = { created: 1, expires: null, lastUsed: null };
  return {
    id,
    digest,
    name: id,
    tenant,
    database: null,
    scopes: ["read"],
    limits,
    replacedBy: null,
    ...times,
  };
}

describe("a backup", () => {
  it("is restored record by record, with its index, under new epochs", async () => {
    const folder = new IndexedFolder();
    const engine = await folder.open();
    const ref = await folder.filled(engine);
    const empty = await makeCollection(engine);
    const to = target();
    const made = await engine.makeBackup(request(to));
    expect(made).toMatchObject({ target: to, collections: 2, damaged: 0 });
    const state = await readAll(engine, ref);
    const token = await engine.readToken(ref);
    await write(engine, ref, "upsert", row(3));

    const dataFolder = await restoredFolder(to);
    const segments = readdirSync(new DataFolder(dataFolder).collectionIndex(ref.id));
    expect(segments).toEqual(expect.arrayContaining(folder.segmentsOf(ref)));
    const again = await createLocalEngine({ dataFolder, index: INDEX });
    onTestFinished(() => again.close());
    expect(await readAll(again, ref)).toEqual(state);
    // What had a segment needs no new one.
    expect((await again.statistics()).unsealedRows).toBeLessThan(INDEX.sizes.sizes.sealedRows);
    expect((await again.statistics()).damagedIndexFiles).toBe(0);
    expect(await again.getCollection(empty)).toEqual(await engine.getCollection(empty));
    const commit = { token, readIds: [], operations: [] };
    await expect(again.commit(ref, commit)).rejects.toMatchObject({ code: "stale_read" });
    await write(again, ref, "upsert", row(1));
    expect(await again.count(ref, EVERYTHING)).toBe(ROWS);
  });

  it("adds what has changed to another one", async () => {
    const folder = new IndexedFolder();
    const engine = await folder.open();
    const ref = await folder.filled(engine);
    const [first, second, third] = [target(), target(), target()];
    await engine.makeBackup(request(first));
    await write(engine, ref, "upsert", row(7), row(ROWS + 1));
    await engine.delete(ref, { ids: [row(3).id], where: null, limit: null });
    const states = [await readAll(engine, ref)];
    await engine.makeBackup(request(second, { base: first }));
    await write(engine, ref, "upsert", row(9));
    const other = await written(engine);
    states.push(await readAll(engine, ref));
    const made = await engine.makeBackup(request(third, { base: second }));
    expect(made.collections).toBe(2);
    expect(await verifyBackup(third)).toMatchObject({ backups: 3, problems: [], missing: [] });
    expect(await readAll(await restored(second), ref)).toEqual(states[0]);
    const newest = await restored(third);
    expect(await readAll(newest, ref)).toEqual(states[1]);
    expect(await readAll(newest, other)).toHaveLength(ROWS);
    const bytes = async (of: string): Promise<number> => (await listed(of))[0]?.parts.at(-1)?.bytes ?? 0;
    expect(await bytes(second)).toBeLessThan((await bytes(first)) / 10);
    const kept = (await listed(second))[0]?.index.filter((file) => file.name.endsWith(".seg")) ?? [];
    expect(
      kept.some(
        (file) => !existsSync(join(second, "collections", ref.id.slice(0, 2), ref.id, "index", file.name)),
      ),
    ).toBe(true);
    const { id } = (await verifyBackup(first)).header;
    expect(kept.map((file) => file.in)).toContain(id);
    await expect(engine.makeBackup(request(target(), { base: temporaryFolder() }))).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });

  it("of one tenant has nothing of the others, and keys only where they are asked for", async () => {
    const engine = await new IndexedFolder().open();
    await written(engine);
    for (const tenant of ["acme", "other"]) {
      await engine.createTenant(tenant);
      await engine.createDatabase({ tenant, database: "main" });
      await engine.createKey(keyOf(tenant));
    }
    const at = { tenant: "acme", database: "main" };
    const { id } = await engine.createCollection(parseCreateCollection({ name: "mine" }, at));
    const ref = { ...at, id };
    await write(engine, ref, "add", ...ALL.slice(0, 3).map(row));
    const [whole, one] = [target(), target()];
    await engine.makeBackup(request(whole, { keys: true }));
    await engine.makeBackup(request(one, { tenant: "acme" }));
    const added = target();
    await engine.makeBackup(request(added, { tenant: "acme", base: whole }));
    for (const backup of [one, added]) {
      const packs = readdirSync(join(backup, "packs"));
      const bytes = Buffer.concat(packs.map((name) => readFileSync(join(backup, "packs", name))));
      expect(["acme", "other", keyOf("acme").digest].map((word) => bytes.includes(word))).toEqual([
        ...[true, false, false],
      ]);
    }
    for (const [backup, keys] of [
      [whole, ["key-acme"]],
      [one, []],
      [added, []],
    ] as const) {
      const again = await restored(backup, "acme");
      const { items } = await again.listTenants({ limit: null, offset: 0 });
      expect(items.map(({ name }) => name)).toEqual(["acme", "default_tenant"]);
      expect(await readAll(again, ref)).toHaveLength(3);
      expect(await again.countCollections(AT)).toBe(0);
      expect((await again.listKeys({ limit: null, offset: 0 })).items.map((key) => key.id)).toEqual(keys);
      await again.createKey(keyOf("acme", "key-new"));
      await again.deleteTenant("acme");
      expect((await again.listKeys({ limit: null, offset: 0 })).items).toEqual([]);
    }
    await expect(engine.makeBackup(request(target(), { tenant: "absent" }))).rejects.toMatchObject({
      code: "not_found",
    });
    await expect(restored(one, "other")).rejects.toMatchObject({ code: "not_found" });
  });

  it("has what is dropped and written while it is made", async () => {
    const folder = new IndexedFolder();
    // With files of their own they are copied one by one.
    const engine = await folder.open(INDEX, { shareStores: null });
    const refs = [];
    for (let i = 0; i < 6; i++) refs.push(await written(engine));
    const to = target();
    const making = engine.makeBackup(request(to));
    const copied = async (): Promise<number> => (await engine.backupProgress())?.collections ?? 0;
    await expect.poll(copied, { timeout: 20_000, interval: 1 }).toBeGreaterThan(0);
    expect(await engine.backupProgress()).toMatchObject({ totalCollections: refs.length });
    for (const [i, ref] of refs.entries()) {
      const { name } = await engine.getCollection(ref);
      await write(engine, ref, "upsert", row(0));
      if (i % 2 === 0) await engine.deleteCollection({ ...AT, name });
    }
    await expect(engine.makeBackup(request(target()))).rejects.toMatchObject({ code: "failed_precondition" });
    expect(await making).toMatchObject({ damaged: 0, collections: refs.length });
    expect(await engine.backupProgress()).toBeNull();
    const again = await restored(to);
    for (const ref of refs) expect(await readAll(again, ref)).toHaveLength(ROWS);
    // What was held is gone by now.
    expect(readdirSync(join(folder.path, "trash"))).toEqual([]);
    expect(refs.filter((ref) => existsSync(new DataFolder(folder.path).collection(ref.id)))).toHaveLength(3);
  });

  it("that is stopped leaves nothing, and one that was killed is replaced", async () => {
    const engine = await new IndexedFolder().open();
    await written(engine);
    const to = target();
    const stop = new AbortController();
    const making = engine.makeBackup(request(to), { signal: stop.signal });
    stop.abort();
    await expect(making).rejects.toMatchObject({ code: "cancelled" });
    expect(readdirSync(to)).toEqual([]);
    writeFileSync(join(to, "unfinished"), "");
    writeFileSync(join(to, "collections.jsonl"), "{");
    await expect(verifyBackup(to)).rejects.toMatchObject({ code: "invalid_argument" });
    await engine.makeBackup(request(to));
    expect((await verifyBackup(to)).problems).toEqual([]);
    await expect(engine.makeBackup(request(to))).rejects.toMatchObject({ code: "already_exists" });
  });

  it("goes on beside a damaged collection, and says so", async () => {
    const folder = new IndexedFolder();
    const engine = await folder.open(INDEX, { shareStores: null });
    const [lost, sound] = [await written(engine), await written(engine)];
    await expect
      .poll(async () => (await engine.getCollection(lost)).logPosition, { timeout: 10_000 })
      .toBe(ROWS);
    await engine.close();
    truncateSync(new DataFolder(folder.path).collectionFile(lost.id), 3 * 4_096);
    const reopened = await folder.open();
    const to = target();
    expect(await reopened.makeBackup(request(to))).toMatchObject({ collections: 2, damaged: 1 });
    const { missing, problems } = await verifyBackup(to);
    expect({ missing, problems }).toEqual({
      missing: [expect.stringContaining("default_database")],
      problems: [],
    });
    const again = await restored(to);
    expect(await readAll(again, sound)).toHaveLength(ROWS);
    await expect(readAll(again, lost)).rejects.toMatchObject({ code: "collection_unavailable" });
  });
});

describe("a damaged backup", () => {
  it("is refused by name before anything is restored", async () => {
    const engine = await new IndexedFolder().open();
    await written(engine);
    const to = target();
    await engine.makeBackup(request(to));
    const dataFolder = join(temporaryFolder(), "data");
    const files = (readdirSync(to, { recursive: true }) as string[]).filter((name) =>
      statSync(join(to, name)).isFile(),
    );
    expect(files.length).toBeGreaterThan(4);
    for (const name of files) {
      const copy = join(temporaryFolder(), "copy");
      cpSync(to, copy, { recursive: true });
      const bytes = readFileSync(join(copy, name));
      const at = bytes.length >> 1;
      bytes[at] = bytes[at]! ^ 1;
      writeFileSync(join(copy, name), bytes);
      const refused = restoreBackup({ backup: copy, dataFolder, tenant: null });
      await expect(refused, name).rejects.toMatchObject({ code: "failed_precondition" });
      if (!NAMELESS.test(name))
        await expect(refused, name).rejects.toThrow(
          /; collection [\w-]+ \(\w+\/\w+, [\w-]+\) needs it.* What to do: /u,
        );
      rmSync(join(copy, name));
      await expect(restoreBackup({ backup: copy, dataFolder, tenant: null }), name).rejects.toThrow(copy);
    }
    expect(readdirSync(dataFolder)).toEqual([]);
  });

  it("is not restored over other files, and a restore that was killed is done again", async () => {
    const engine = await new IndexedFolder().open();
    const ref = await written(engine);
    const to = target();
    await engine.makeBackup(request(to));
    const dataFolder = temporaryFolder();
    writeFileSync(join(dataFolder, "mine"), "");
    const restore = (): Promise<unknown> => restoreBackup({ backup: to, dataFolder, tenant: null });
    await expect(restore()).rejects.toThrow("it holds mine");
    rmSync(join(dataFolder, "mine"));
    await restore();
    await expect(restore()).rejects.toThrow("is not empty");
    rmSync(join(dataFolder, "format.json"));
    writeFileSync(join(dataFolder, "restoring"), "");
    await expect(createLocalEngine({ dataFolder })).rejects.toThrow("run `sheaf restore` again");
    await restore();
    const again = await createLocalEngine({ dataFolder, index: INDEX });
    onTestFinished(() => again.close());
    expect(await again.count(ref, EVERYTHING)).toBe(ROWS);
  });
});

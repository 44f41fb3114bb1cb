/** Backups in a bucket, on a real S3 server: made, added to, fetched, restored and removed, while requests fail. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CollectionRef } from "@sheaf/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../../create-local-engine.ts";
import type { Engine } from "../../engine.ts";
import { DataFolder } from "../../storage/folder/data-folder.ts";
import { ObjectStore, type ObjectStoreSettings } from "../../storage/objects/object-store.ts";
import { ObjectServer } from "../../storage/objects/testing/object-server.ts";
import { AT, makeCollection, readAll, record, write } from "../../testing/engine-fixtures.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { HEADER, HEADER_SUM, readHeader, writeHeader } from "../backup-files.ts";
import type { MadeBackup } from "../make-backup.ts";
import { restoreBackup } from "../restore-backup.ts";
import { verifyBackup } from "../verify-backup.ts";
import { BucketBackups } from "./bucket-backups.ts";
import { SPOOL_PREFIX } from "./spool.ts";

let server: ObjectServer;
beforeAll(async () => {
  server = await ObjectServer.start();
});
afterAll(() => server?.close());

let bucket: ObjectStoreSettings;
let backups: BucketBackups;
let engine: Engine;
let ref: CollectionRef;
beforeEach(async () => {
  server.fault = () => null;
  bucket = { ...server.settings(), limits: { attempts: 3, listed: 3 } };
  backups = new BucketBackups(bucket);
  engine = await createLocalEngine({ dataFolder: temporaryFolder() });
  onTestFinished(() => engine.close());
  ref = await makeCollection(engine);
  await write(engine, ref, "add", record("a"), record("b", { document: "text ".repeat(100_000) }));
});

const back = (target: string, base: string | null = null, signal?: AbortSignal): Promise<MadeBackup> =>
  engine.makeBackup({ target, base, tenant: null, keys: false, bucket }, { signal });

async function send(name: string, folder: string): Promise<void> {
  await backups.begin(name, null);
  await backups.send(name, folder);
}

/** Resolves when the list of the backup is about to be sent, which waits until what that gives is called. */
function pausedWhileSent(name: string): Promise<() => void> {
  let goOn = (): void => {};
  const isOver = new Promise<void>((resolve) => (goOn = resolve));
  onTestFinished(() => {
    server.pause = () => null;
    goOn();
  });
  return new Promise((arrive) => {
    server.pause = (call) => {
      if (!call.startsWith("PUT") || !call.includes(`/${name}/collections.jsonl`)) return null;
      arrive(goOn);
      return isOver;
    };
  });
}

/** Folders that backups pass through, of this machine. */
const spools = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith(SPOOL_PREFIX));

async function expectRestored(name: string): Promise<void> {
  const backup = await backups.fetch(name, temporaryFolder());
  expect((await verifyBackup(backup)).problems).toEqual([]);
  const to = join(temporaryFolder(), "data");
  await restoreBackup({ backup, dataFolder: to, tenant: null });
  const again = await createLocalEngine({ dataFolder: to });
  expect(await readAll(again, ref)).toEqual(await readAll(engine, ref));
  await again.close();
}

describe("a backup in a bucket", () => {
  it("is made, added to, restored and removed, with the files that it has in a folder", async () => {
    const before = spools();
    expect(await back("first")).toMatchObject({ target: "first", collections: 1, damaged: 0 });
    await write(engine, ref, "upsert", record("c"));
    await back("second", "first");
    expect(await backups.names()).toEqual(["first", "second"]);
    const objects = await new ObjectStore(bucket).listAll("");
    expect(objects.filter((name) => name.startsWith("first/"))).toEqual([
      ...["first/backup.json", "first/backup.json.sha256", "first/collections.jsonl"],
      ...["first/packs/000001", "first/packs/000002"],
    ]);
    const { base, id } = await backups.header("second");
    expect(base?.path).toBe("../first");
    expect((await backups.chain("second")).map(({ folder }) => folder)).toEqual(["second", "first"]);
    await expectRestored("second");
    await expect(back("second")).rejects.toMatchObject({ code: "already_exists" });
    expect((await backups.header("second")).id).toBe(id);
    await expect(backups.remove("first")).rejects.toThrow("first is needed by second");
    await backups.remove("second");
    await backups.remove("first");
    expect(await new ObjectStore(bucket).listAll("")).toEqual([]);
    expect(spools().filter((name) => !before.includes(name))).toEqual([]);
  });

  it("fetches of its base what has changed, and compares that with its sum", async () => {
    const other = await makeCollection(engine);
    await write(engine, other, "add", record("a"));
    await back("first");
    const fetched: string[] = [];
    server.fault = (call) => {
      if (/^GET .*first\/packs/u.test(call)) fetched.push(call.replace(/^.*packs\/(\d+).*$/u, "$1"));
      return null;
    };
    // The catalog is in the first pack.
    await back("same", "first");
    expect(new Set(fetched.splice(0))).toEqual(new Set(["000001"]));
    await write(engine, other, "upsert", record("b"));
    await back("changed", "same");
    expect(fetched.filter((pack) => pack === "000002")).toHaveLength(1);
    await expectRestored("changed");
    const path = "first/packs/000002";
    const store = new ObjectStore(bucket);
    const { bytes } = (await store.get(path, "0-9999999"))!;
    const turned = Buffer.from(bytes.map((byte) => byte ^ 1));
    await store.put(path, turned, createHash("md5").update(turned).digest());
    await write(engine, other, "upsert", record("c"));
    // What is damaged there it does not add to.
    await back("next", "changed");
    const { problems } = await verifyBackup(await backups.fetch("next", temporaryFolder()));
    const copied = new RegExp(`first/packs/000002: .*${other.id}.* does not need this$`, "u");
    expect(problems).toContainEqual(expect.stringMatching(copied));
  });

  it("has each file as it was where requests fail, and where they go on failing it names the file and leaves nothing", async () => {
    const folder = temporaryFolder();
    await engine.makeBackup({ target: join(folder, "one"), base: null, tenant: null, keys: false });
    for (const fault of ["busy", "cut", "flip", "lost"] as const) {
      const isDone = server.failOnce(/^PUT .*packs/u, fault);
      cpSync(join(folder, "one"), join(folder, `after-${fault}`), { recursive: true });
      await send(`after-${fault}`, folder);
      expect(isDone()).toBe(true);
    }
    server.fault = () => null;
    expect(await backups.names()).toEqual(["after-busy", "after-cut", "after-flip", "after-lost"]);
    await expectRestored("after-flip");
    server.fault = (call) => (/^PUT .*packs\/000002/u.test(call) ? "busy" : null);
    await expect(back("failing")).rejects.toThrow("failing/packs/000002: ");
    server.fault = () => null;
    expect(await new ObjectStore(bucket).listAll("failing/")).toEqual([]);
  });

  it("is none until its last file is there, and what an interrupted one left makes room for the next", async () => {
    const folder = temporaryFolder();
    await engine.makeBackup({ target: join(folder, "cut"), base: null, tenant: null, keys: false });
    server.fault = (call) => (call.startsWith("DELETE") || /^PUT .*backup\.json$/u.test(call) ? "cut" : null);
    await expect(send("cut", folder)).rejects.toMatchObject({ code: "unavailable" });
    server.fault = () => null;
    expect((await new ObjectStore(bucket).listAll("cut/")).length).toBeGreaterThan(2);
    await expect(backups.header("cut")).rejects.toThrow("no complete backup");
    expect(await backups.isBackup("cut")).toBe(false);
    await send("cut", folder);
    await expectRestored("cut");
    expect(await new ObjectStore(bucket).listAll("cut/")).not.toContain("cut/unfinished");
  });

  it("that is cancelled leaves nothing and frees its base", async () => {
    await back("first");
    const cancel = new AbortController();
    const paused = pausedWhileSent("cancelled");
    const making = back("cancelled", "first", cancel.signal);
    void making.catch(() => undefined);
    await paused;
    await expect(backups.remove("first")).rejects.toThrow("first is needed by cancelled");
    cancel.abort();
    await expect(making).rejects.toThrow();
    expect(await backups.names()).toEqual(["first"]);
    expect(await backups.remove("first")).toBe("complete");
  });

  it("is not published once it was removed, or its base", async () => {
    await back("first");
    const ended = pausedWhileSent("ended");
    const removed = back("ended", "first");
    void removed.catch(() => undefined);
    const goOn = await ended;
    expect(await backups.remove("ended")).toBe("unfinished");
    goOn();
    await expect(removed).rejects.toThrow("ended was removed while it was made");
    const orphan = pausedWhileSent("orphan");
    const lost = back("orphan", "first");
    void lost.catch(() => undefined);
    const publish = await orphan;
    await new ObjectStore(bucket).remove("first/backup.json");
    publish();
    await expect(lost).rejects.toThrow("first, which orphan adds to, was removed");
    expect(await backups.names()).toEqual(["first"]);
  });

  it("that a killed process has left can be removed, and nothing else that is no backup", async () => {
    await back("first");
    await backups.begin("left", "first");
    await expect(backups.remove("first")).rejects.toThrow("first is needed by left");
    expect(await backups.remove("left")).toBe("unfinished");
    await expect(backups.remove("left")).rejects.toThrow("no complete backup");
    const [above = "", ofAll = ""] = bucket.prefix.split("/");
    const all = new BucketBackups({ ...bucket, prefix: `${above}/` });
    await expect(all.remove(ofAll)).rejects.toThrow("no complete backup");
    expect(await backups.names()).toEqual(["first"]);
  });

  it("is not removed where what adds to it cannot be listed", async () => {
    await back("first");
    await back("second", "first");
    const objects = await new ObjectStore(bucket).listAll("");
    server.fault = (call) => (call.includes("list-type") ? "page" : null);
    await expect(backups.names()).rejects.toThrow("200: what came is no S3 answer");
    await expect(backups.remove("first")).rejects.toThrow("no S3 answer");
    server.fault = (call) => (call.includes("list-type") ? "more" : null);
    await expect(backups.names()).rejects.toThrow("says there is more, and adds nothing");
    await expect(backups.remove("first")).rejects.toThrow("says there is more");
    server.fault = () => null;
    expect(await new ObjectStore(bucket).listAll("")).toEqual(objects);
  });

  it("names what the store refuses, and the folder that has no room for it", async () => {
    await back("first");
    server.fault = () => "busy";
    await expect(backups.header("first")).rejects.toThrow(
      `${backups.url}first/backup.json: the object store`,
    );
    await expect(backups.names()).rejects.toThrow(`${backups.url}: the object store`);
    server.fault = () => null;
    const folder = await backups.fetch("first", temporaryFolder());
    writeHeader(folder, { ...(await readHeader(folder)), bytes: 2 ** 50 });
    for (const name of [HEADER, HEADER_SUM]) {
      const bytes = readFileSync(join(folder, name));
      await new ObjectStore(bucket).put(`first/${name}`, bytes, createHash("md5").update(bytes).digest());
    }
    const full = temporaryFolder();
    await expect(backups.fetch("first", full)).rejects.toThrow(`the disk of ${full} is full: `);
  });

  it("holds no files of dropped collections while it is sent", async () => {
    const dataFolder = temporaryFolder();
    const unshared = await createLocalEngine({ dataFolder, shareStores: null });
    onTestFinished(() => unshared.close());
    const dropped = await makeCollection(unshared);
    await write(unshared, dropped, "add", record("a"));
    const paused = pausedWhileSent("sent");
    const making = unshared.makeBackup({ target: "sent", base: null, tenant: null, keys: false, bucket });
    const goOn = await paused;
    const place = new DataFolder(dataFolder).collection(dropped.id);
    expect(existsSync(place)).toBe(true);
    await unshared.deleteCollection({ ...AT, name: (await unshared.getCollection(dropped)).name });
    await expect.poll(() => existsSync(place)).toBe(false);
    goOn();
    await making;
  });

  it("with a file that is missing, damaged or of another name is refused", async () => {
    await back("first");
    const store = new ObjectStore(bucket);
    const fetched = await backups.fetch("first", temporaryFolder());
    const pack = readFileSync(join(fetched, "packs/000002"));
    pack[pack.length >> 1]! ^= 1;
    const put = (name: string, bytes: Buffer): Promise<void> =>
      store.put(name, bytes, createHash("md5").update(bytes).digest());
    await put("first/packs/000002", pack);
    const { problems } = await verifyBackup(await backups.fetch("first", temporaryFolder()));
    expect(problems).toEqual([expect.stringContaining("000002")]);
    await store.remove("first/packs/000002");
    const missing = await verifyBackup(await backups.fetch("first", temporaryFolder()));
    expect(missing.problems).toEqual([expect.stringContaining("is missing")]);
    await put("first/.hidden", Buffer.from("x"));
    await expect(backups.fetch("first", temporaryFolder())).rejects.toThrow("no file of a backup");
    await expect(backups.header("../first")).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(back("next", "absent")).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

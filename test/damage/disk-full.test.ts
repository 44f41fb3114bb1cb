/** A full disk: reads go on, writes are 507, and once there is room again all is as before, without a restart. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { OWN_FILES } from "./testing/damage-files.ts";
import { COLLECTIONS, hostPid, KnownCollection } from "./testing/known-collection.ts";
import { runSheaf } from "./testing/run-sheaf.ts";
import { makeSmallDisk } from "./testing/small-disk.ts";

const disk = makeSmallDisk();
const ONES = Array.from({ length: 24 }, () => 1);
const FULL = {
  status: 507,
  body: { error: "ChromaError", message: expect.stringContaining("the disk of the data folder is full") },
};

let served: ServedSheaf;
let host: number | null;
let first: KnownCollection;
let second: KnownCollection;
const current = (): ServedSheaf => served;

async function start(data: string, env = {}): Promise<void> {
  served = await ServedSheaf.start({ data, args: ["--disk-reserve", String(disk.reserveBytes)], env });
  host = await hostPid(served);
}

beforeAll(async () => {
  await start(join(disk.folder, "data"));
  first = await KnownCollection.make(current, "first");
  second = await KnownCollection.make(current, "second");
});
afterAll(async () => {
  try {
    await served.stop();
  } finally {
    disk.dispose();
  }
});

describe(`a full disk, by ${disk.kind}`, () => {
  it("refuses writes with 507 once the reserve is all that is left, and keeps what was acknowledged", async () => {
    const acknowledged: string[] = [];
    const document = "x".repeat(200_000);
    for (let n = 0; ; n++) {
      const answer = await first.ask("add", {
        ids: [`big${n}`],
        embeddings: [ONES],
        documents: [document],
      });
      if (answer.status !== 201) {
        expect(answer).toMatchObject(FULL);
        break;
      }
      acknowledged.push(`big${n}`);
      if (n === 20) disk.fill();
    }
    expect(acknowledged).toHaveLength(21);
    const { body } = await first.ask("get", { ids: acknowledged, include: ["documents"] });
    expect(body).toMatchObject({ ids: acknowledged, documents: acknowledged.map(() => document) });
  });

  it("reads on and searches on", async () => {
    await second.expectSound();
    expect((await first.ask("query", { query_embeddings: [ONES], n_results: 3 })).status).toBe(200);
  });

  it("refuses whatever takes room: records, collections, forks", async () => {
    expect(await second.upsert("r1", 4)).toMatchObject(FULL);
    expect(await second.ask("update", { ids: ["r1"], documents: ["changed"] })).toMatchObject(FULL);
    const fork = await second.ask("fork", { new_name: "fork" });
    expect(fork).toMatchObject(FULL);
    await second.expectSound();
    expect(await hostPid(served), "the host goes on").toBe(host);
  });

  it("serves everything after a restart on the full disk too", async () => {
    expect(await served.stop()).toBe(0);
    await start(served.data);
    await second.expectSound();
    expect(await second.upsert("r1", 4)).toMatchObject(FULL);
    const { out } = await runSheaf("doctor", "--data", served.data);
    expect(out).toContain("a server uses the folder");
    expect(await hostPid(served), "the host goes on").toBe(host);
  });

  it("takes deletes of records and collections, which the reserve is for", async () => {
    disk.freeHalfOfReserve();
    expect(await second.upsert("r1", 4)).toMatchObject(FULL);
    expect(await first.delete(["big0", "big1"])).toMatchObject({ status: 200, body: { deleted: 2 } });
    expect(await first.count()).toMatchObject({ status: 200, body: 60 + 19 });
    expect(await first.drop()).toBe(200);
    expect((await first.count()).status).toBe(404);
    expect(await hostPid(served), "the host goes on").toBe(host);
  });

  it("writes again once there is room, without a restart", async () => {
    disk.free();
    expect((await second.upsert("again", 4)).status).toBe(200);
    const third = await KnownCollection.make(current, "third");
    await third.expectSound();
    expect((await served.request(`${COLLECTIONS}/${third.name}`)).status).toBe(200);
    expect(await hostPid(served), "the host goes on").toBe(host);
  });

  it("gives back the files of a collection that is deleted, though it has no room for another name", async () => {
    const files = (): number => readdirSync(join(served.data, "collections"), { recursive: true }).length;
    expect(await served.stop()).toBe(0);
    await start(served.data, OWN_FILES);
    const doomed = await KnownCollection.make(current, "doomed");
    // After a start there is no folder of what was deleted.
    expect(await served.stop()).toBe(0);
    await start(served.data, OWN_FILES);
    const before = files();
    disk.takeAllNames();
    expect(await doomed.drop()).toBe(200);
    await expect.poll(files).toBeLessThan(before);
    disk.free();
    expect(await hostPid(served), "the host goes on").toBe(host);
  });
});

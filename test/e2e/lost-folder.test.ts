/** A server whose data folder is taken away while it runs ends, and makes nothing in its place. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ServedSheaf, descendants, temporaryFolder, waitUntilGone } from "./testing/served-sheaf.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const LOOKS_MS = 3_000;

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** With one record. */
async function start(data: string): Promise<[served: ServedSheaf, collection: string]> {
  const served = await ServedSheaf.start({ data });
  onTestFinished(() => void served.process.kill("SIGKILL"));
  const { id } = await served.ask<{ id: string }>(COLLECTIONS, { name: "notes" });
  const collection = `${COLLECTIONS}/${id}`;
  await served.ask(`${collection}/add`, { ids: ["kept"], embeddings: [[1, 2]] });
  return [served, collection];
}

/** Whether a write was acknowledged. */
function isWritten(served: ServedSheaf, collection: string, id: string): Promise<boolean> {
  return served.request(`${collection}/add`, { json: { ids: [id], embeddings: [[2, 1]] } }).then(
    ({ status }) => status === 201,
    () => false,
  );
}

describe("a server whose data folder", () => {
  it.each([
    ["is removed", (data: string) => rm(data, { recursive: true }), []],
    ["is emptied", (data: string) => emptied(data), []],
    ["is moved", (data: string) => rename(data, `${data}-moved`), []],
    ["has another one in its place", (data: string) => replaced(data), ["file"]],
    ["has a copy in its place", (data: string) => copied(data), null],
  ])("%s ends, says so, and acknowledges nothing meanwhile", async (what, take, left) => {
    const data = join(folder, what.replaceAll(" ", "-"));
    const [served, collection] = await start(data);
    const children = await descendants(served.pid);
    const exited = once(served.process, "exit");
    const before = await namesIn(data);
    await take(data);
    const written: boolean[] = [];
    while (served.process.exitCode === null)
      written.push(await isWritten(served, collection, `late ${written.length}`));
    expect(await exited).toEqual([1, null]);
    expect(written).not.toContain(true);
    expect(served.output).toContain(`the data folder ${data} was removed or moved`);
    expect(served.output).toContain("restore a backup");
    expect(await waitUntilGone(children)).toEqual([]);
    expect(await namesIn(data)).toEqual(left ?? before);
  });

  it("has lost just its lock file goes on, also where another server was refused meanwhile", async () => {
    const data = join(folder, "unlocked");
    const [served, collection] = await start(data);
    await rm(join(data, "lock.json"));
    await sleep(LOOKS_MS);
    expect(await isWritten(served, collection, "a")).toBe(true);
    const second = await ServedSheaf.launch({ data });
    expect(await once(second.process, "exit")).toEqual([1, null]);
    await sleep(LOOKS_MS);
    expect(await isWritten(served, collection, "b")).toBe(true);
    expect(await served.stop()).toBe(0);
  });
});

async function emptied(data: string): Promise<void> {
  for (const name of await readdir(data)) await rm(join(data, name), { recursive: true });
}

async function replaced(data: string): Promise<void> {
  await rename(data, `${data}-moved`);
  await mkdir(join(data, "file"), { recursive: true });
}

async function copied(data: string): Promise<void> {
  await rename(data, `${data}-moved`);
  await cp(`${data}-moved`, data, { recursive: true });
}

async function namesIn(data: string): Promise<readonly string[]> {
  return existsSync(data) ? (await readdir(data)).toSorted() : [];
}

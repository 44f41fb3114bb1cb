/** Damaged files make one collection unavailable and nothing else; `sheaf doctor` says what is wrong. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import {
  catalogFile,
  collectionFile,
  cutInHalf,
  edit,
  flipIn,
  OWN_FILES,
  PAGE_BYTES,
  zeroMetaPage,
} from "./testing/damage-files.ts";
import { COLLECTIONS, documentOf, hostPid, KnownCollection } from "./testing/known-collection.ts";
import { runSheaf } from "./testing/run-sheaf.ts";

interface DoctorReport {
  readonly healthy: boolean | null;
  readonly findings: readonly {
    readonly severity: string;
    readonly subject: string;
    readonly problem: string;
    readonly remedy: string;
  }[];
  readonly collections: number;
  readonly records: number;
}

let served: ServedSheaf;
const current = (): ServedSheaf => served;

async function doctor(): Promise<{ code: number; report: DoctorReport }> {
  const { code, out, errors } = await runSheaf("doctor", "--data", served.data, "--json");
  expect(errors).toBe("");
  return { code, report: JSON.parse(out) as DoctorReport };
}

async function damagedCollections(): Promise<number> {
  const metrics = await (await served.request("/metrics")).text();
  return Number(/^sheaf_damaged_collections (\d+)$/mu.exec(metrics)?.[1]);
}

describe("collections that were damaged while no server ran", () => {
  const collections = new Map<string, KnownCollection>();
  const known = (name: string): KnownCollection => {
    const found = collections.get(name);
    if (found === undefined) throw new Error(`no collection ${name}`);
    return found;
  };
  const lost = ["cut", "meta-0", "meta-1", "emptied", "removed", "rubbish"];

  beforeAll(async () => {
    served = await ServedSheaf.start({ env: OWN_FILES });
    for (const name of ["sound", "one-record", ...lost]) {
      collections.set(name, await KnownCollection.make(current, name));
    }
    await served.stop();
    const file = (name: string): string => collectionFile(served.data, known(name).id);
    cutInHalf(file("cut"));
    zeroMetaPage(file("meta-0"), 0);
    zeroMetaPage(file("meta-1"), 1);
    truncateSync(file("emptied"), 0);
    rmSync(dirname(file("removed")), { recursive: true });
    edit(file("rubbish"), (bytes) => bytes.fill(0x5a));
    flipIn(file("one-record"), documentOf("one-record", 8));
  });
  afterAll(() => served.dispose());

  it("are named by `sheaf doctor`, each with what to do", async () => {
    const { code, report } = await doctor();
    expect(code).toBe(1);
    expect(report).toMatchObject({ healthy: false, collections: 8 });
    const about = (name: string): string[] =>
      report.findings
        .filter(({ subject }) => subject.startsWith(`collection ${name} (`))
        .map(({ severity, problem, remedy }) => `${severity}: ${problem} -> ${remedy}`);
    expect(report.findings).toHaveLength(7);
    expect(about("sound")).toEqual([]);
    expect(about("cut")).toEqual([
      expect.stringMatching(/^damage: page \d+: lies beyond the end of the file/u),
    ]);
    expect(about("meta-0")).toEqual([expect.stringContaining("meta page 0 is not one")]);
    expect(about("meta-1")).toEqual([expect.stringContaining("meta page 1 is not one")]);
    expect(about("emptied")).toEqual([expect.stringContaining("holds 0 operations of at least 60")]);
    expect(about("removed")).toEqual([expect.stringContaining("holds 0 operations of at least 60")]);
    expect(about("rubbish")).toEqual([expect.stringContaining("neither of its meta pages can be read")]);
    expect(about("one-record")).toEqual([
      expect.stringMatching(
        /^damage: 1 of 60 records cannot be read: "r8": .*the checksum does not match.* -> delete/u,
      ),
    ]);
    for (const name of lost) expect(about(name)[0]).toContain("sheaf collections delete");
  });

  it("give back by `--salvage` what can be read of them", async () => {
    const save = async (name: string, file: string): Promise<{ code: number; ids: string[] }> => {
      const to = join(served.data, "..", `${file}-${process.pid}.jsonl`);
      const { code } = await runSheaf("doctor", "--data", served.data, "--salvage", name, "--to", to);
      const lines = readFileSync(to, "utf8").split("\n").filter(Boolean);
      rmSync(to);
      return { code, ids: lines.map((line) => (JSON.parse(line) as { id: string }).id) };
    };
    const all = Array.from({ length: 60 }, (_, n) => `r${n}`);
    expect(await save("sound", "sound")).toEqual({ code: 0, ids: all });
    expect(await save(known("one-record").id, "one")).toEqual({
      code: 1,
      ids: all.filter((id) => id !== "r8"),
    });
    // Of the two states that a file leads to, the older one has the first 40 records.
    for (const name of ["meta-0", "meta-1"]) {
      const { code, ids } = await save(name, name);
      expect(code).toBe(1);
      expect([all, all.slice(0, 40)]).toContainEqual(ids);
    }
    const none = await runSheaf("doctor", "--data", served.data, "--salvage", "nobody", "--to", "/tmp/never");
    expect(none).toMatchObject({ code: 1, errors: expect.stringContaining("no collection nobody") });
    const nowhere = await runSheaf("doctor", "--data", served.data, "--salvage", "sound");
    expect(nowhere).toMatchObject({ code: 2, errors: expect.stringContaining("--to") });
  });

  it("are unavailable, and all else is served by a host that never dies of them", async () => {
    served = await ServedSheaf.start({ data: served.data, env: OWN_FILES });
    const host = await hostPid(served);
    for (const name of lost) await known(name).expectUnavailable();
    await known("sound").expectSound();
    expect(await hostPid(served)).toBe(host);
    const told = served.output.split("\n").filter((line) => line.includes('"level":50'));
    const places = lost.map((name) => expect.stringContaining(`"collection":"${known(name).id}"`));
    expect(told, "one line for each").toHaveLength(lost.length);
    expect(told).toEqual(expect.arrayContaining(places));
    expect(await damagedCollections()).toBe(lost.length);
    const { code, report } = await doctor();
    expect({ code, healthy: report.healthy }).toEqual({ code: 3, healthy: null });
    const to = join(served.data, "..", `in-use-${process.pid}.jsonl`);
    const saving = await runSheaf("doctor", "--data", served.data, "--salvage", "sound", "--to", to);
    expect(saving).toMatchObject({ code: 3, out: expect.stringContaining("nothing was saved") });
    expect(existsSync(to)).toBe(false);
    expect(report.findings).toMatchObject([
      {
        severity: "note",
        problem: expect.stringContaining(`a server uses the folder (process ${served.pid})`),
      },
    ]);
  });

  it("lose one damaged record alone, and are whole again without it", async () => {
    const collection = known("one-record");
    const refused = {
      status: 500,
      body: { message: expect.stringMatching(/^record "r8": .*sheaf doctor/u) },
    };
    for (const answer of [
      collection.getAll(),
      collection.getOne(8),
      collection.count(),
      collection.query(8),
    ]) {
      expect(await answer).toMatchObject(refused);
    }
    expect(await collection.search(8)).toMatchObject(refused);
    expect(await damagedCollections()).toBe(lost.length + 1);
    const host = await hostPid(served);
    process.kill(host ?? 0, "SIGKILL");
    await expect.poll(async () => [null, host].includes(await hostPid(served))).toBe(false);
    await expect.poll(async () => (await collection.getOne(7)).status).toBe(200);
    expect(await damagedCollections(), "known to the next host").toBe(lost.length + 1);
    expect(await collection.getOne(7)).toMatchObject({ status: 200, body: { ids: ["r7"] } });
    expect((await collection.upsert("later", 1)).status).toBe(200);
    expect(await collection.delete(["r8"])).toMatchObject({ status: 200, body: { deleted: 1 } });
    expect(await collection.count()).toEqual({ status: 200, body: 60 });
    expect(await collection.query(8)).toMatchObject({ status: 200 });
    expect(await damagedCollections(), "without the record").toBe(lost.length);
  });

  it("can be deleted and made anew, after which the doctor is content", async () => {
    for (const name of lost) {
      expect(await known(name).drop(), name).toBe(200);
      await (await KnownCollection.make(current, name)).expectSound();
    }
    expect(await damagedCollections()).toBe(0);
    expect(await served.stop()).toBe(0);
    expect(await doctor()).toMatchObject({
      code: 0,
      report: { healthy: true, findings: [], collections: 8, records: 8 * 60 },
    });
    const { out, code } = await runSheaf("doctor", "--data", served.data);
    expect({ out, code }).toEqual({
      out: `${served.data}: healthy; 8 collections with 480 records that can be read\n`,
      code: 0,
    });
  });
});

const isUnavailable = (status: number): boolean => status === 500 || status === 503;

describe("a collection that is damaged while it is open", () => {
  const damages = {
    "its file is cut off": cutInHalf,
    "its meta pages are zeroed": (path: string) => {
      zeroMetaPage(path, 0);
      zeroMetaPage(path, 1);
    },
    "its tree is zeroed": (path: string) => edit(path, (bytes) => bytes.fill(0, 2 * PAGE_BYTES)),
  } as const;
  const uses = {
    get: (collection: KnownCollection) => collection.getAll(),
    search: (collection: KnownCollection) => collection.search(3),
    write: (collection: KnownCollection) => collection.upsert("new", 1),
  } as const;

  beforeAll(async () => {
    served = await ServedSheaf.start({ env: OWN_FILES });
  });
  afterAll(() => served.dispose());

  for (const [damage, apply] of Object.entries(damages)) {
    it.each(Object.entries(uses))(
      `is unavailable when ${damage} and a %s finds it, and nothing else is`,
      async (use, run) => {
        const sound = await KnownCollection.make(current, `sound-${use}-${damage.replaceAll(" ", "-")}`);
        const victim = await KnownCollection.make(current, `victim-${use}-${damage.replaceAll(" ", "-")}`);
        await sound.expectSound();
        await victim.expectSound();
        apply(collectionFile(served.data, victim.id));
        const statusOfUse = async (): Promise<number> => (await run(victim)).status;
        // A read may still have the snapshot of the one before it, which is right; a write has to look anew.
        if (use === "write") expect(await statusOfUse()).toSatisfy(isUnavailable);
        await expect.poll(statusOfUse, { interval: 20 }).toSatisfy(isUnavailable);
        await sound.expectSound();
        await victim.expectUnavailable();
        const host = await hostPid(served);
        for (let round = 0; round < 5; round++) await victim.expectUnavailable();
        await sound.expectSound();
        expect(await hostPid(served), "the host goes on").toBe(host);
        expect(await victim.drop()).toBe(200);
        expect(await sound.drop()).toBe(200);
      },
    );
  }
});

describe("a damaged catalog", () => {
  let healthy: Buffer;
  let folders: readonly string[];
  /** Id of a collection. */
  let lost: string;

  beforeAll(async () => {
    served = await ServedSheaf.start({ env: OWN_FILES });
    ({ id: lost } = await KnownCollection.make(current, "lost", 20));
    await KnownCollection.make(current, "kept", 20);
    await served.stop();
    healthy = readFileSync(catalogFile(served.data));
    folders = readdirSync(join(served.data, "collections"));
  });
  afterAll(() => served.dispose());

  it.each([
    ["is cut off", cutInHalf],
    ["has lost a meta page", (path: string) => zeroMetaPage(path, 1)],
    ["is empty", (path: string) => truncateSync(path, 0)],
    ["is not there", (path: string) => rmSync(dirname(path), { recursive: true })],
    ["has lost its tree", (path: string) => edit(path, (bytes) => bytes.fill(0, 2 * PAGE_BYTES))],
    ["has one entry that is not right", (path: string) => edit(path, garbleLost)],
  ])("that %s keeps the server from starting, and nothing is lost by trying", async (_name, damage) => {
    const path = catalogFile(served.data);
    damage(path);
    const before = statSync(path, { throwIfNoEntry: false })?.size;
    const server = await ServedSheaf.launch({ data: served.data });
    const [code] = (await once(server.process, "exit")) as [number];
    expect(server.output).toMatch(/the catalog of the data folder cannot be used: .*sheaf doctor/u);
    expect(code).toBe(1);
    expect(statSync(path, { throwIfNoEntry: false })?.size).toBe(before);
    expect(server.output).not.toMatch(/\\n +at /u);
    expect(readdirSync(join(served.data, "collections"))).toEqual(folders);
    const { code: found, report } = await doctor();
    expect(found).toBe(1);
    expect(report.findings).toContainEqual(
      expect.objectContaining({
        severity: "damage",
        subject: "the catalog",
        remedy: expect.stringContaining("backup"),
      }),
    );
    restore(path);
  });

  it("that is not there leaves the collections to be counted and saved", async () => {
    const path = catalogFile(served.data);
    rmSync(dirname(path), { recursive: true });
    const { report } = await doctor();
    expect(report).toMatchObject({ collections: 2, records: 40 });
    restore(path);
  });

  it.each([
    ["root-key", ""],
    ["root-key", "short"],
  ])("beside a %s that holds %j is no healthy folder", async (name, text) => {
    const path = join(served.data, name);
    writeFileSync(path, text, { mode: 0o600 });
    const { code, report } = await doctor();
    expect({ code, findings: report.findings }).toMatchObject({
      code: 1,
      findings: [{ severity: "damage", subject: path, remedy: expect.stringContaining("remove it") }],
    });
    rmSync(path);
  });

  it.each(["", "{}", "[1"])("beside a format.json of %j is told how to be served", async (text) => {
    const path = join(served.data, "format.json");
    const before = readFileSync(path, "utf8");
    writeFileSync(path, text);
    const server = await ServedSheaf.launch({ data: served.data });
    const [code] = (await once(server.process, "exit")) as [number];
    expect(code).toBe(1);
    expect(server.output).toContain(
      "without one, if this version has served the folder, write this line to it",
    );
    const line = /write this line to it: (\{.*?\})/u.exec(server.output.replaceAll("\\", ""))?.[1];
    expect(`${line}\n`).toBe(before);
    writeFileSync(path, before);
  });

  it("that lost the entry of a collection does not take its files along", async () => {
    const path = catalogFile(served.data);
    // In the key of the entry alone, which its length precedes: what leads to it by name, age and database stays.
    const key = Buffer.from(`110003${lost.replaceAll("-", "")}`, "hex");
    edit(path, (bytes) => {
      for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1)) bytes[at + 8]! ^= 1;
    });
    const server = await ServedSheaf.launch({ data: served.data });
    const [code] = (await once(server.process, "exit")) as [number];
    expect({ code, output: server.output }).toMatchObject({
      code: 1,
      output: expect.stringContaining("sheaf doctor"),
    });
    expect(readdirSync(join(served.data, "collections"))).toEqual(folders);
    restore(path);
  });

  it.each([
    ["holds entries that are not right", (path: string) => edit(path, garbleEntries), false],
    ["keeps the engine from starting again", cutInHalf, true],
  ])("that %s while a server runs is told to callers without places", async (_name, damage, ends) => {
    const path = catalogFile(served.data);
    const server = await ServedSheaf.start({ data: served.data, env: OWN_FILES });
    damage(path);
    if (ends) process.kill((await hostPid(server)) ?? 0, "SIGKILL");
    const answer = async (): Promise<{ status: number; message: string }> => {
      const response = await server.request(COLLECTIONS);
      const { message = "" } = (await response.json()) as { message?: string };
      return { status: response.status, message };
    };
    await expect.poll(answer, { interval: 50 }).toMatchObject({ status: 500 });
    const { message } = await answer();
    expect(message).toMatch(/; the operator of the server finds in its log what to do$/u);
    expect(message).not.toMatch(/doctor|catalog|key|page|\//u);
    expect(server.output).toMatch(/"level":50,.*sheaf doctor/u);
    await server.stop();
    restore(path);
  });

  it("that is as it was serves everything", async () => {
    served = await ServedSheaf.start({ data: served.data, env: OWN_FILES });
    expect(await served.ask<unknown[]>(COLLECTIONS)).toHaveLength(2);
    await served.stop();
    expect((await doctor()).code).toBe(0);
  });

  /** Pages that are no longer used have it, too. */
  function garbleLost(bytes: Buffer): void {
    for (let at = bytes.indexOf('"lost"'); at >= 0; at = bytes.indexOf('"lost"', at + 1)) bytes[at] = 0;
  }

  function garbleEntries(bytes: Buffer): void {
    for (let at = bytes.indexOf('"name"'); at >= 0; at = bytes.indexOf('"name"', at + 1)) bytes[at] = 0;
  }

  function restore(path: string): void {
    rmSync(dirname(path), { recursive: true, force: true });
    mkdirSync(dirname(path));
    writeFileSync(path, healthy);
  }
});

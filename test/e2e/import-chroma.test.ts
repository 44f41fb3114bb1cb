/** `sheaf import chroma`, by the real command. Its source is another Sheaf, which speaks the same interface; `npm run compat:python` has a real Chroma. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { type EndedCommand, sheafAt } from "./testing/sheaf-command.ts";

const TENANTS = "/api/v2/tenants";
const DATABASES = `${TENANTS}/default_tenant/databases`;
const INCLUDE = ["documents", "embeddings", "metadatas", "uris"];

let folder: string;
let source: ServedSheaf;
let target: ServedSheaf;

beforeAll(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder, "token"), `${ROOT_KEY}\n`);
  [source, target] = await Promise.all([ServedSheaf.start(), ServedSheaf.start()]);
});
afterAll(async () => {
  await Promise.all([source.dispose(), target.dispose()]);
  await rm(folder, { recursive: true, force: true });
});

function moved(...args: readonly string[]): Promise<EndedCommand> {
  const all = ["import", "chroma", "--token-file", join(folder, "token"), ...args];
  return sheafAt(target.url, all, { cwd: folder });
}

async function makeCollection(at: ServedSheaf, path: string, json: object): Promise<string> {
  const { id } = await at.ask<{ readonly id: string }>(`${path}/collections`, {
    get_or_create: true,
    ...json,
  });
  return `${path}/collections/${id}`;
}

async function everything(at: ServedSheaf, path: string, name: string): Promise<string> {
  const collection = await makeCollection(at, path, { name });
  return (await at.request(`${collection}/get`, { json: { include: INCLUDE } })).text();
}

async function send(at: ServedSheaf, path: string, body: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await at.request(path, { method: "POST", body, headers });
  if (!answer.ok) throw new Error(await answer.text());
}

describe("sheaf import chroma", () => {
  it("copies every tenant and database to the byte, more than a page of collections, and empty ones", async () => {
    await source.ask(TENANTS, { name: "ütenant" });
    const there = `${TENANTS}/${encodeURIComponent("ütenant")}/databases`;
    await source.ask(there, { name: "many" });
    for (let i = 0; i < 103; i++) {
      const collection = await makeCollection(source, `${there}/many`, { name: `c-${i}` });
      if (i > 0) continue;
      const body =
        '{"ids":["ä","b","c"],"embeddings":[[1],[2.5],[3]],"documents":["a",null,""],"uris":[null,"file:///b",null],' +
        '"metadatas":[null,{"whole":2.0,"big":9007199254740993,"tags":["x","y"]},null]}';
      await send(source, `${collection}/add`, body);
    }
    const main = await makeCollection(source, `${DATABASES}/default_database`, {
      name: "main",
      metadata: { owner: "me" },
      configuration: { hnsw: { space: "cosine" } },
    });
    const ids = Array.from({ length: 1_203 }, (_, i) => `id-${i}`);
    await source.ask(`${main}/add`, { ids, embeddings: ids.map((_, i) => [i, 1]) });
    const state = join(folder, "all.json");
    const { code, output } = await moved("--url", source.url, "--state", state);
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining("104 collections with 1206 records; all the same on both sides"),
    });
    expect(existsSync(state)).toBe(false);
    for (const [path, name] of [
      [`${there}/many`, "c-0"],
      [`${DATABASES}/default_database`, "main"],
    ] as const)
      expect(await everything(target, path, name)).toBe(await everything(source, path, name));
    const described = await target.ask(`${DATABASES}/default_database/collections/main`);
    expect(described).toMatchObject({
      metadata: { owner: "me" },
      configuration_json: { hnsw: { space: "cosine" } },
    });
  });

  it("goes on where it ended, replaces what an older copy has, and reports what is refused or in excess", async () => {
    await source.ask(DATABASES, { name: "odd" });
    const collection = await makeCollection(source, `${DATABASES}/odd`, { name: "odd" });
    const ids = Array.from({ length: 150 }, (_, i) => `r${i}`);
    await source.ask(`${collection}/add`, { ids, embeddings: ids.map((_, i) => [i]), documents: ids });
    await target.ask(DATABASES, { name: "odd-2" });
    const copy = await makeCollection(target, `${DATABASES}/odd-2`, { name: "odd" });
    const old = {
      ids: ["r5", "r120"],
      embeddings: [[0], [0]],
      metadatas: [{ left: "over" }, { left: "over" }],
    };
    await target.ask(`${copy}/add`, old);
    const state = join(folder, "odd.json");
    const args = ["--url", source.url, "--database", "odd", "--to-database", "odd-2", "--state", state];
    expect((await moved(...args)).code).toBe(0);
    expect(await everything(target, `${DATABASES}/odd-2`, "odd")).not.toContain("over");

    await target.ask(`${copy}/add`, { ids: ["extra"], embeddings: [[1]] });
    const more = await moved(...args);
    expect(more).toMatchObject({
      code: 1,
      output: expect.stringContaining("150 records at the source and 151 at Sheaf"),
    });
    const report = JSON.parse(await readFile(join(folder, "odd.report.json"), "utf8")) as object;
    expect(report).toMatchObject({ source: source.url, target: `${target.url}, database odd-2` });
    expect(Object.values((report as { collections: object }).collections)).toMatchObject([
      { done: 150, refused: 0 },
    ]);
    await target.ask(`${copy}/delete`, { ids: ["extra"] });
    expect((await moved(...args)).code).toBe(0);

    // An earlier run came as far as that.
    const { id } = await source.ask<{ id: string }>(`${DATABASES}/odd/collections/odd`);
    const progress = {
      from: "default_tenant/odd/odd",
      to: "default_tenant/odd-2/odd",
      done: 100,
      refused: 0,
    };
    const rest = { checksum: "0", source: null, target: null, isComplete: false, problem: null };
    const saved = {
      version: 1,
      source: source.url,
      target: `${target.url}, database odd-2`,
      collections: { [id]: { ...progress, ...rest } },
    };
    await writeFile(state, JSON.stringify(saved));
    await target.ask(`${copy}/delete`, { ids: ["r3", "r130"] });
    const resumed = await moved(...args);
    expect(resumed).toMatchObject({
      code: 1,
      output: expect.stringContaining("150 records at the source and 149 at Sheaf"),
    });
    expect((await moved(...args)).code).toBe(0);
    const wrong = await moved("--url", source.url, "--database", "odd", "--state", join(folder, "token"));
    expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining("not the state of this import") });
  });

  it("says what it needs, and what it does not find", async () => {
    expect((await moved()).code).toBe(2);
    expect((await moved("--url", source.url, "--collection", "absent")).code).toBe(1);
    expect((await moved("--url", source.url, "--database", "absent")).code).toBe(2);
    const away = await moved("--url", "http://127.0.0.1:9");
    expect(away).toMatchObject({
      code: 1,
      output: "sheaf: no Chroma server answers at http://127.0.0.1:9\n",
    });
    expect((await moved("--path", folder)).output).toContain("holds no chroma.sqlite3");
    const local = join(folder, "local");
    await mkdir(local);
    await writeFile(join(local, "chroma.sqlite3"), "");
    const program = await moved("--path", local, "--chroma", join(folder, "absent"));
    expect(program).toMatchObject({ code: 2, output: expect.stringContaining("pip install chromadb") });
    const ended = await moved("--path", local, "--chroma", process.execPath);
    expect(ended).toMatchObject({ code: 1, output: expect.stringContaining("ended at once") });
  });
});

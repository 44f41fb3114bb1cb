/** `sheaf export` and `sheaf import`, by the real command: nothing is lost on the way, and both go on where they were ended. */
import { appendFile, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { type EndedCommand, sheafAt } from "./testing/sheaf-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const RECORDS = 700;
/** Of a collection that cuts its documents. */
const CUTTING = {
  configuration: { embedding_function: { type: "known", name: "default", config: {} } },
  schema: { chunking: { by: "headings", size: 64 } },
  metadata: { shelf: 2 },
};

interface Described {
  readonly name: string;
  readonly schema: unknown;
  readonly configuration_json: unknown;
  readonly metadata: unknown;
}

let folder: string;
let served: ServedSheaf;
let source: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  served = await ServedSheaf.start({ args: ["--backup-folder", join(folder, "backups")] });
  source = await makeCollection("source");
  const ids = Array.from({ length: RECORDS }, (_, i) => `record ${i}`);
  // Numbers that JSON.parse would change.
  const metadatas = ids.map(
    (_, i) => `{"n":${i},"whole":${i}.0,"large":9007199254740993,"tags":["a","ü${i}"]}`,
  );
  const body =
    `{"ids":${JSON.stringify(ids)},"embeddings":${JSON.stringify(ids.map((_, i) => [i, 0.1, -1e-20]))},` +
    `"documents":${JSON.stringify(ids.map((id, i) => (i % 3 === 0 ? null : `text\n${id} \u{1f30a}`)))},"metadatas":[${metadatas.join(",")}]}`;
  const answer = await served.request(`${source}/add`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  const cut = await makeCollection("cut", CUTTING);
  await served.ask(`${cut}/upsert`, {
    ids: ["long", "vector"],
    documents: ["# Tides\nShips leave.\n\n# Bread\nIt rests.\n", null],
    embeddings: [null, Array.from({ length: 384 }, () => 0.05)],
    metadatas: [{ room: "sea" }, null],
  });
  const made = await sheaf("backup", "one");
  if (answer.status !== 201 || made.code !== 0) throw new Error(`${answer.status} ${made.output}`);
});
afterAll(async () => {
  await served.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function makeCollection(name: string, more: object = {}): Promise<string> {
  const { id } = await served.ask<{ readonly id: string }>(COLLECTIONS, {
    ...{ name, get_or_create: true },
    ...more,
  });
  return `${COLLECTIONS}/${id}`;
}

const sheaf = (...args: readonly string[]): Promise<EndedCommand> => sheafAt(served.url, args);

async function everything(collection: string): Promise<string> {
  const answer = await served.request(`${collection}/get`, {
    json: { include: ["documents", "embeddings", "metadatas", "uris"] },
  });
  return answer.text();
}

const exported = (to: string): Promise<{ readonly code: number; readonly output: string }> =>
  sheaf("export", join(folder, "backups", "one"), "--collection", "source", "--to", to);

describe("sheaf export and sheaf import", () => {
  it("carry every record over to the byte", async () => {
    const file = join(folder, "all.jsonl");
    expect(await exported(file)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`${RECORDS} records of source (`),
    });
    expect((await sheaf("import", file, "--collection", "copy", "--create")).code).toBe(0);
    expect(await everything(await makeCollection("copy"))).toBe(await everything(source));
    expect(await exported(file)).toMatchObject({
      code: 1,
      output: expect.stringContaining("exists already"),
    });
  });

  it("carry chunks over as they are, and cut what is new", async () => {
    const file = join(folder, "cut.jsonl");
    const source = join(folder, "backups", "one");
    expect((await sheaf("export", source, "--collection", "cut", "--to", file)).code).toBe(0);
    await appendFile(file, `${JSON.stringify({ id: "new", document: "# A\nOne.\n\n# B\nTwo.\n" })}\n`);
    const copy = await makeCollection("cut-copy", CUTTING);
    expect(await sheaf("import", file, "--collection", "cut-copy")).toMatchObject({ code: 0 });
    const { ids } = await served.ask<{ readonly ids: readonly string[] }>(`${copy}/get`, {});
    expect(ids.toSorted()).toEqual(["long#0", "long#1", "new#0", "new#1", "vector"]);
    expect(await served.ask<number>(`${copy}/count`, { ids: ["long"] })).toBe(2);
  });

  it("make a collection with the schema and the metadata of the first one", async () => {
    const file = join(folder, "schema.jsonl");
    const source = join(folder, "backups", "one");
    await sheaf("export", source, "--collection", "cut", "--to", file);
    expect(await sheaf("import", file, "--collection", "like-cut", "--create")).toMatchObject({ code: 0 });
    const all = await served.ask<readonly Described[]>(COLLECTIONS);
    const [made, like] = ["cut", "like-cut"].map((name) => all.find((one) => one.name === name));
    expect(like).toMatchObject({ schema: made!.schema, metadata: { shelf: 2 }, dimension: 384 });
    expect(like!.configuration_json).toEqual(made!.configuration_json);
    await rm(`${file}.collection.json`);
    const bare = await sheaf("import", file, "--collection", "bare", "--create");
    expect(bare).toMatchObject({ code: 0, output: expect.stringContaining("gets no embedding function") });
    await writeFile(`${file}.collection.json`, "[]");
    expect((await sheaf("import", file, "--collection", "none", "--create")).code).toBe(2);
  });

  it("go on where they were ended", async () => {
    const [whole, file] = [join(folder, "whole.jsonl"), join(folder, "torn.jsonl")];
    await exported(whole);
    const text = await readFile(whole, "utf8");
    const backup = JSON.parse(await readFile(join(folder, "backups/one/backup.json"), "utf8")) as {
      readonly id: string;
    };
    await writeFile(`${file}.source`, `${backup.id} ${source.split("/").at(-1)}`);
    await writeFile(`${file}.part`, text.slice(0, text.length >> 1));
    expect((await exported(file)).code).toBe(0);
    expect(await readFile(file, "utf8")).toBe(text);
    const rest = await makeCollection("rest");
    const state = `${file}.import.json`;
    const { size, mtimeMs } = await stat(file);
    await writeFile(state, JSON.stringify({ source: `${rest} ${size} ${mtimeMs}`, lines: RECORDS - 5 }));
    const written = (count: number): object => ({
      code: 0,
      output: expect.stringMatching(new RegExp(`^${count} records written`, "mu")) as unknown,
    });
    const imported = (): Promise<object> => sheaf("import", file, "--collection", "rest");
    expect(await imported()).toMatchObject(written(5));
    expect(await served.ask<number>(`${rest}/count`)).toBe(5);
    // What an interrupted run had done of another file says nothing of this one.
    for (const other of [`{"source":"${rest} ${size} ${mtimeMs - 1}","lines":600}`, '{"lines"', "null"]) {
      await writeFile(state, other);
      expect(await imported(), other).toMatchObject(written(RECORDS));
    }
    expect(await served.ask<number>(`${rest}/count`)).toBe(RECORDS);
  });

  it("refuse lines one by one, by their number", async () => {
    const file = join(folder, "odd.jsonl");
    const lines = [
      '{"id":"good","embedding":[1,2]}',
      "no JSON",
      '{"id":"","embedding":[1,2]}',
      "",
      '{"id":"wrong dimension","embedding":[1,2,3]}',
      '{"id":"strange","vector":[1,2]}',
      '{"id":"good too","embedding":[3,4],"metadata":{"a":null,"b":1}}',
    ];
    await writeFile(file, lines.join("\n"));
    const { code, output } = await sheaf("import", file, "--collection", "odd", "--create");
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining("refused: 4") });
    const report = (await readFile(`${file}.refused.jsonl`, "utf8")).trim().split("\n");
    const refused = report.map((line) => (JSON.parse(line) as { readonly line: number }).line);
    expect(refused.toSorted((a, b) => a - b)).toEqual([2, 3, 5, 6]);
    expect(await served.ask<number>(`${await makeCollection("odd")}/count`)).toBe(2);
    expect((await sheaf("import", join(folder, "absent"), "--collection", "odd")).code).toBe(2);
    expect((await sheaf("import", file, "--collection", "absent")).code).toBe(1);
  });
});

describe("a whole tenant", () => {
  const path = (tenant: string, database: string): string =>
    `/api/v2/tenants/${tenant}/databases/${database}/collections`;
  interface Described {
    readonly id: string;
    readonly name: string;
    readonly log_position: number;
    readonly version: number;
  }
  const described = async (tenant: string, database: string): Promise<readonly unknown[]> => {
    const all = await served.ask<readonly Described[]>(path(tenant, database));
    const list: unknown[] = [];
    for (const { id, log_position: _position, version: _version, ...rest } of all) {
      const text = JSON.stringify({ ...rest, tenant: "" });
      list.push([text, await everything(`${path(tenant, database)}/${id}`)]);
    }
    return list;
  };

  it("comes back as it was, under another name too, and after interruptions", async () => {
    await served.ask("/api/v2/tenants", { name: "acme" });
    await served.ask("/api/v2/tenants/acme/databases", { name: "one" });
    await served.ask("/api/v2/tenants/acme/databases", { name: "two" });
    const metadata = '{"whole":2.0,"n":3}';
    const body = `{"name":"typed","metadata":${metadata},"configuration":{"hnsw":{"space":"cosine"}}}`;
    const headers = { "content-type": "application/json" };
    const typed = (await (
      await served.request(path("acme", "one"), { method: "POST", body, headers })
    ).json()) as { readonly id: string };
    const at = `${path("acme", "one")}/${typed.id}`;
    const ids = Array.from({ length: 40 }, (_, i) => `r${i}`);
    await served.ask(`${at}/add`, { ids, embeddings: ids.map((_, i) => [i, 1, 2]) });
    await served.ask(`${at}/fork`, { new_name: "forked" });
    await served.ask(`${at}/delete`, { ids: ["r1", "r2"] });
    const emptied = await served.ask<{ readonly id: string }>(path("acme", "two"), { name: "emptied" });
    const empty = `${path("acme", "two")}/${emptied.id}`;
    await served.ask(`${empty}/add`, { ids: ["gone"], embeddings: [[1, 2]] });
    await served.ask(`${empty}/delete`, { ids: ["gone"] });
    await served.ask(path("acme", "two"), { name: "never-written" });
    // Of clients that had no schemas.
    await served.ask(path("acme", "two"), { name: "legacy", metadata: { "hnsw:space": "ip", n: 1 } });
    expect((await sheaf("backup", "tenants")).code).toBe(0);
    const [backup, to] = [join(folder, "backups", "tenants"), join(folder, "acme")];
    const done = await sheaf("export", backup, "--tenant", "acme", "--to", to);
    expect(done).toMatchObject({ code: 0, output: expect.stringContaining("5 collections with 78 records") });
    expect((await sheaf("export", backup, "--tenant", "acme", "--to", to)).code).toBe(1);
    expect((await sheaf("export", backup, "--tenant", "nobody", "--to", `${to}2`)).code).toBe(1);

    expect(await sheaf("import", to, "--keep")).toMatchObject({ code: 2 });
    await writeFile(join(to, "import.json"), "{");
    expect((await sheaf("import", to)).output).toContain("import.json is not the state of this import");
    await rm(join(to, "import.json"));
    expect((await sheaf("import", to)).output).toContain("exists already; delete it first");
    await rm(join(to, "import.json"), { force: true });
    // As an import leaves it that was ended in its first collection.
    const made = await served
      .ask<{ readonly id: string }>("/api/v2/tenants", { name: "again" })
      .then(async () => {
        await served.ask("/api/v2/tenants/again/databases", { name: "one" });
        return served.ask<{ readonly id: string }>(path("again", "one"), JSON.parse(body) as object);
      });
    const [first] = (await readFile(join(to, "manifest.jsonl"), "utf8"))
      .split("\n")
      .flatMap((line) => /"file":"([^"]*)"/u.exec(line)?.[1] ?? []);
    const progress = { id: made.id, isDone: false, written: 0, refused: 0 };
    const state = { version: 1, target: `${served.url} again`, collections: { [first!]: progress } };
    await writeFile(join(to, "import.json"), JSON.stringify(state));
    expect((await sheaf("import", to, "--tenant", "third")).output).toContain("belongs to an import");
    const imported = await sheaf("import", to, "--tenant", "again");
    expect(imported).toMatchObject({
      code: 0,
      output: expect.stringContaining("5 collections with 78 records"),
    });
    for (const database of ["one", "two"])
      expect(await described("again", database)).toEqual(await described("acme", database));
    expect((await sheaf("import", to, "--collection", "x", "--tenant", "again")).code).not.toBe(0);
  });
});

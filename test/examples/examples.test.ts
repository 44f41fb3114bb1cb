import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { chromaClient } from "../compat/testing/chroma.ts";
import { ask, expectOk, newCollection } from "../compat/testing/wire.ts";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { runExample } from "./testing/run-example.ts";

/** What is asked of a page of records. */
interface Page {
  readonly offset?: number;
  readonly limit?: number;
}

let served: ServedSheaf;

beforeAll(async () => {
  served = await ServedSheaf.start();
});

afterAll(async () => {
  await served.dispose();
});

describe.each(["quick-start", "rag-hybrid-search", "multi-tenant", "why-this-record", "moving-from-chroma"])(
  "%s",
  (name) => {
    it.each([
      ["without an address", "", /^set (?:SHEAF|CHROMA)_URL to the address of a server/u],
      [
        "with a server that is away",
        "http://127.0.0.1:9",
        /^(?:Failed to connect|no answer from|(?:CHROMA_URL \(http:\/\/127\.0\.0\.1:9\): )?fetch failed: )/u,
      ],
    ])("ends with a line and 1 %s", async (_, url, line) => {
      const run = runExample(served, name, { env: { SHEAF_URL: url, CHROMA_URL: url } });
      await expect(run).rejects.toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(line) });
      await expect(run).rejects.toMatchObject({ stderr: expect.not.stringMatching(/\n./u) });
    });
  },
);

describe("quick-start", () => {
  it("finds by meaning, and under a filter, however often it is run", async () => {
    const lines = await runExample(served, "quick-start");
    expect(await runExample(served, "quick-start")).toEqual(lines);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("Ships wait in the harbour");
    expect(lines[2]).toBe("not about the sea: bread");
  });

  it("makes a collection that the server embeds for", async () => {
    await runExample(served, "quick-start");
    const notes = await chromaClient(served).getCollection({ name: "quick-start" });
    expect(await notes.count()).toBe(3);
    expect(notes.configuration).toMatchObject({ embedding_function: { type: "known", name: "sheaf" } });
  });
});

describe("why-this-record", () => {
  it("explains, checks, counts and orders, however often it is run", async () => {
    const lines = await runExample(served, "why-this-record");
    expect(await runExample(served, "why-this-record")).toEqual(lines);
    expect(
      lines.filter((line) => / has -0\.03\d\d: place \d in #embedding, place \d in bm25$/u.test(line)),
    ).toHaveLength(2);
    expect(lines).toEqual(
      expect.arrayContaining([
        "found among 7 of 9 records",
        "not galley: filtered where.room",
        "not anchor: absent",
        "check: invalid_argument at searches[0].rank.$knn.key; unknown_key at searches[1].where.yaer",
        "newest: engine pilot bread",
        "oldest year: tides knots",
        "by year, then room: paint diesel galley",
        "of the sea: 3",
        "years: 2019 (3), 1998 (2), 2003 (2), 2011 (2)",
      ]),
    );
    expect(lines.at(-1)).toMatch(/^".*ship.*" matches .*ship/u);
  });
});

describe("rag-hybrid-search", () => {
  it("puts the chunk with the code first, and the question last", async () => {
    const lines = await runExample(served, "rag-hybrid-search");
    const sources = lines.filter((line) => /^\[\d\]/u.test(line));
    expect(sources).toHaveLength(3);
    expect(sources[0]).toMatch(/^\[1\] \(engine\.md#1\) Fault code E-42/u);
    expect(lines.at(-1)).toBe("Question: What do I do about fault code E-42?");
  });

  it("answers another question in a second run", async () => {
    const args = ["When do ships sail away?"];
    const lines = await runExample(served, "rag-hybrid-search", { args });
    expect(lines.find((line) => line.startsWith("[1]"))).toContain("high tide");
  });
});

describe("multi-tenant", () => {
  it("keeps one customer from another, however often it is run", async () => {
    const expected = ["acme sees: an order of acme", "acme's key cannot read globex"];
    for (let run = 0; run < 2; run++) expect(await runExample(served, "multi-tenant")).toEqual(expected);
  });
});

describe("multi-tenant, on a server with --auth off", () => {
  it("says that it needs keys", async () => {
    const open = await ServedSheaf.start({ args: ["--auth", "off"], env: { SHEAF_ROOT_KEY: "" } });
    try {
      const stderr = "this example makes keys; the server runs with --auth off\n";
      await expect(runExample(open, "multi-tenant")).rejects.toMatchObject({ code: 1, stderr });
    } finally {
      await open.dispose();
    }
  });
});

describe("moving-from-chroma", () => {
  it("copies what is there, and only once", async () => {
    const elsewhere = { type: "known", name: "not-installed-here", config: { model: "m" } };
    await newCollection(served, {
      name: "moved",
      metadata: { owner: "me" },
      configuration: { hnsw: { space: "cosine" }, embedding_function: elsewhere },
    });
    const source = await chromaClient(served).getCollection({ name: "moved" });
    const ids = Array.from({ length: 1_200 }, (_, i) => `id-${i}`);
    await source.add({ ids, embeddings: ids.map((_, i) => [i, 1]), metadatas: ids.map((_, i) => ({ i })) });
    await source.add({ ids: ["text"], embeddings: [[0, 1]], documents: ["a text"], uris: ["file:///a"] });
    await source.add({ ids: ["bare"], embeddings: [[0, 2]] });
    const env = {
      ...{ CHROMA_URL: served.url, CHROMA_TOKEN: ROOT_KEY, CHROMA_DATABASE: "default_database" },
      SHEAF_DATABASE: "target",
    };
    const expected = ["default_database/moved: 1202 there, 1202 here"];
    expect(await runExample(served, "moving-from-chroma", { args: ["moved"], env })).toEqual(expected);
    expect(await runExample(served, "moving-from-chroma", { args: ["moved"], env })).toEqual(expected);
    const misspelt = runExample(served, "moving-from-chroma", { args: ["movd"], env });
    await expect(misspelt).rejects.toMatchObject({ stdout: "movd: there is no such collection\n" });
    const elsewhereEnv = { ...env, CHROMA_DATABASE: "nosuch" };
    await expect(runExample(served, "moving-from-chroma", { env: elsewhereEnv })).rejects.toMatchObject({
      code: 1,
      stdout: `there are no collections in database nosuch of tenant default_tenant of ${served.url}\n`,
    });

    const target = await chromaClient(served, { database: "target" }).getCollection({ name: "moved" });
    expect(target.metadata).toEqual(source.metadata);
    expect(target.configuration).toEqual(source.configuration);
    const include = ["embeddings", "documents", "metadatas", "uris"] as const;
    const all = { include: [...include] };
    const [before, after] = await Promise.all([source.get(all), target.get(all)]);
    for (const column of ["ids", ...include] as const) expect(after[column]).toEqual(before[column]);
  });

  it("names a record that is refused, and says how far it came", async () => {
    const ids = Array.from({ length: 1_005 }, (_, i) => (i === 1_002 ? "x".repeat(600) : `r${i}`));
    const source = createServer((request, response) => {
      void text(request).then((body) => {
        const { offset = 0, limit = 0 } = (body === "" ? {} : JSON.parse(body)) as Page;
        const page = ids.slice(offset, offset + limit);
        const answer = request.url!.endsWith("/get")
          ? { ids: page, embeddings: page.map((_, n) => [n]) }
          : { id: "1", name: "long" };
        response.end(JSON.stringify(request.url!.includes("?") ? [answer] : answer));
      });
    });
    await once(source.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void source.close());
    const { port } = source.address() as AddressInfo;
    const env = { CHROMA_URL: `http://127.0.0.1:${port}`, CHROMA_DATABASE: "d", SHEAF_DATABASE: "long" };
    await expect(runExample(served, "moving-from-chroma", { env })).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^d\/long: record 1002 \("x{600}"\): SHEAF_URL answered 400 .* the first 1000 records were copied\n$/u,
      ),
    });
  });

  it("copies every database, more than a page of collections, and records that have nothing but a vector", async () => {
    const [there, here] = ["/api/v2/tenants/there/databases", "/api/v2/tenants/here/databases"];
    for (const name of ["there", "here"]) await served.ask("/api/v2/tenants", { name });
    for (const [name, count] of [
      ["many", 103],
      ["few", 2],
    ] as const) {
      await served.ask(there, { name });
      for (let i = 0; i < count; i++) {
        const { id } = await served.ask<{ id: string }>(`${there}/${name}/collections`, { name: `c-${i}` });
        await served.ask(`${there}/${name}/collections/${id}/add`, {
          ids: ["ä", "b", "c"],
          embeddings: [[1], [2], [3]],
          ...(i === 0 ? { documents: ["a", null, ""], metadatas: [null, { n: 1 }, null] } : {}),
        });
      }
    }
    const env = {
      ...{ CHROMA_URL: served.url, CHROMA_TOKEN: ROOT_KEY, CHROMA_TENANT: "there" },
      SHEAF_TENANT: "here",
    };
    const lines = await runExample(served, "moving-from-chroma", { env });
    expect(lines).toHaveLength(105);
    expect(lines.filter((line) => !line.endsWith(": 3 there, 3 here"))).toEqual([]);
    for (const [name, count] of [
      ["many", 103],
      ["few", 2],
    ] as const) {
      expect(await served.ask(`${here}/${name}/collections_count`)).toBe(count);
    }
    const { id } = await served.ask<{ id: string }>(`${here}/many/collections/c-0`);
    const include = ["documents", "metadatas", "embeddings", "uris"];
    expect(await served.ask(`${here}/many/collections/${id}/get`, { include })).toMatchObject({
      ids: ["ä", "b", "c"],
      embeddings: [[1], [2], [3]],
      documents: ["a", null, ""],
      metadatas: [null, { n: 1 }, null],
      uris: [null, null, null],
    });
  });

  it("keeps the kinds of numbers, and says what it could not copy", async () => {
    const path = "/api/v2/tenants/default_tenant/databases";
    await served.ask(path, { name: "numbers" });
    const { id } = await served.ask<{ id: string }>(`${path}/numbers/collections`, { name: "kinds" });
    const collection = `${path}/numbers/collections/${id}`;
    const body = '{"ids":["a"],"embeddings":[[1]],"metadatas":[{"whole":2.0,"big":9007199254740993}]}';
    await expectOk(served, { path: `${collection}/add`, body });
    const env = {
      ...{ CHROMA_URL: served.url, CHROMA_TOKEN: ROOT_KEY, CHROMA_DATABASE: "numbers" },
      SHEAF_DATABASE: "numbers-2",
    };
    await runExample(served, "moving-from-chroma", { env });
    const copy = await served.ask<{ id: string }>(`${path}/numbers-2/collections/kinds`);
    const { text } = await ask(served, { path: `${path}/numbers-2/collections/${copy.id}/get`, json: {} });
    expect(text).toContain('{"whole":2.0,"big":9007199254740993}');

    // Whatever refuses a page: here vectors of another dimension that are there before.
    await served.ask(`${collection}/delete`, { ids: ["a"] });
    const other = { ids: ["b"], embeddings: [[1]] };
    await served.ask(`${collection}/add`, other);
    await served.ask(path, { name: "numbers-3" });
    const taken = await served.ask<{ id: string }>(`${path}/numbers-3/collections`, { name: "kinds" });
    await served.ask(`${path}/numbers-3/collections/${taken.id}/add`, { ids: ["x"], embeddings: [[1, 2]] });
    const run = runExample(served, "moving-from-chroma", { env: { ...env, SHEAF_DATABASE: "numbers-3" } });
    await expect(run).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^numbers\/kinds: record 0 \("b"\): .* 400 .*dimension of 2, got 1/u),
    });
  });
});

/** `@sheaf/client`, and stock clients beside it, with documents that the server cuts, against the real command. */
import { type ChunkFields, ConflictError, SheafClient, TooLargeError, hybridSchema } from "@sheaf/client";
import { ChromaClient } from "chromadb";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";

let served: ServedSheaf;
let client: SheafClient;
beforeAll(async () => {
  served = await ServedSheaf.start();
  client = new SheafClient({ url: served.url, key: ROOT_KEY });
});
afterAll(() => served.dispose());

const TEXT = "# Tides\nShips leave at high tide.\n# Bread\nSourdough rests overnight.\n";

describe("documents that the server cuts", () => {
  it("are written, read, searched and deleted by one id", async () => {
    const pages = await client.createCollection({
      name: "pages",
      schema: hybridSchema({ chunking: { by: "headings", size: 200, overlap: 20 } }),
    });
    await pages.upsert({ records: [{ id: "a", document: TEXT, metadata: { year: 1998 } }] });
    const rows = await pages.get({ ids: ["a"] });
    expect(rows.map(({ id }) => id)).toEqual(["a#0", "a#1"]);
    for (const { document, metadata } of rows) {
      expect(metadata).toMatchObject({ parent: "a", year: 1998 });
      const { start, end } = metadata as { start: number; end: number };
      expect(TEXT.slice(start, end)).toBe(document);
    }
    const hits = await pages.search({
      rank: { $knn: { query: "boats" } },
      groupBy: { keys: ["parent"], aggregate: { $min_k: { keys: ["#score"], k: 1 } } },
      limit: 5,
    });
    expect(hits.map(({ id }) => id)).toEqual(["a#0"]);
    const record = { id: "a#0", metadata: { year: 1 } };
    await expect(pages.update({ records: [record] })).rejects.toThrow(ConflictError);
    expect(await pages.delete({ ids: ["a"] })).toBe(2);
  });

  it("have their place in the types of rows", async () => {
    const pages = await client.createCollection<{ year: number } & ChunkFields>({
      name: "typed",
      schema: hybridSchema({ chunking: { by: "headings" } }),
    });
    await pages.upsert({ records: [{ id: "a", document: TEXT, metadata: { year: 1998 } }] });
    const [first] = await pages.get({ ids: ["a"], select: ["parent", "start", "end"] });
    expectTypeOf(first?.metadata?.parent).toEqualTypeOf<string | undefined>();
    expectTypeOf(first?.metadata?.end).toEqualTypeOf<number | undefined>();
    expect(TEXT.slice(first?.metadata?.start, first?.metadata?.end)).toBe(
      "# Tides\nShips leave at high tide.\n",
    );
    await pages.search({ where: { parent: "a" }, select: ["parent"] });
  });

  it("are cut where a write or a commit says so", async () => {
    const notes = await client.createCollection({ name: "notes", schema: hybridSchema() });
    const records = [{ id: "long", document: "The tide is high. ".repeat(400) }];
    await expect(notes.add({ records })).rejects.toThrow(TooLargeError);
    const chunking = { by: "sentences" } as const;
    await notes.add({ records, chunking });
    const before = await notes.count({ ids: ["long"] });
    expect(before).toBeGreaterThan(5);
    await notes.conditionalCommit({
      operations: [{ operation: "upsert", records: [{ id: "long", document: "Short." }], chunking }],
    });
    expect(await notes.count({ ids: ["long"] })).toBe(1);
    await notes.upsert({ records: [{ id: "long", document: "Whole." }], chunking: { by: "none" } });
    expect((await notes.get({})).map(({ id }) => id)).toEqual(["long"]);
  });

  it("are records like any other to a stock client, which leaves the setting as it is", async () => {
    const options = { host: "127.0.0.1", port: Number(new URL(served.url).port), ssl: false };
    const chroma = new ChromaClient({ ...options, headers: { "x-chroma-token": ROOT_KEY } });
    const pages = await client.getCollection({ name: "pages" });
    await pages.upsert({ records: [{ id: "b", document: TEXT }] });
    const collection = await chroma.getCollection({ name: "pages" });
    expect((await collection.get({ ids: ["b"] })).ids).toEqual(["b#0", "b#1"]);
    await collection.update({ ids: ["b"], metadatas: [{ seen: true }] });
    expect((await collection.get({ where: { seen: true } })).ids).toEqual(["b#0", "b#1"]);
    await collection.modify({ metadata: { owner: "harbour" } });
    const { schema } = (await client.getCollection({ name: "pages" })).info;
    expect(schema).toMatchObject({ chunking: { by: "headings", size: 200, overlap: 20 } });
    await collection.delete({ ids: ["b"] });
    expect(await collection.count()).toBe(0);
  });
});

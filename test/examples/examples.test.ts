import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromaClient } from "../compat/testing/chroma.ts";
import { newCollection } from "../compat/testing/wire.ts";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { runExample } from "./testing/run-example.ts";

let served: ServedSheaf;

beforeAll(async () => {
  served = await ServedSheaf.start();
});

afterAll(async () => {
  await served.dispose();
});

describe("quick-start", () => {
  it("finds by meaning, and under a filter", async () => {
    const lines = await runExample(served, "quick-start");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("Ships wait in the harbour");
    expect(lines[2]).toBe("not about the sea: bread");
  });

  it("can be run again, and makes a collection that the server embeds for", async () => {
    await runExample(served, "quick-start");
    const notes = await chromaClient(served).getCollection({ name: "notes" });
    expect(await notes.count()).toBe(3);
    expect(notes.configuration).toMatchObject({ embedding_function: { type: "known", name: "sheaf" } });
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

  it("answers another question", async () => {
    const args = ["When do ships sail away?"];
    const lines = await runExample(served, "rag-hybrid-search", { args });
    expect(lines.find((line) => line.startsWith("[1]"))).toContain("high tide");
  });
});

describe("multi-tenant", () => {
  it("keeps one customer from another", async () => {
    expect(await runExample(served, "multi-tenant")).toEqual([
      "acme sees: an order of acme",
      "acme at globex: ChromaForbiddenError",
    ]);
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
    await served.ask("/api/v2/tenants/default_tenant/databases", { name: "target" });
    const env = { CHROMA_URL: served.url, CHROMA_TOKEN: ROOT_KEY, SHEAF_DATABASE: "target" };
    const expected = ["moved: 1201 read, 1201 there"];
    expect(await runExample(served, "moving-from-chroma", { args: ["moved"], env })).toEqual(expected);
    expect(await runExample(served, "moving-from-chroma", { args: ["moved"], env })).toEqual(expected);

    const target = await chromaClient(served, { database: "target" }).getCollection({ name: "moved" });
    expect(target.metadata).toEqual(source.metadata);
    expect(target.configuration).toEqual(source.configuration);
    const include = ["embeddings", "documents", "metadatas", "uris"] as const;
    const all = { include: [...include] };
    const [before, after] = await Promise.all([source.get(all), target.get(all)]);
    for (const column of ["ids", ...include] as const) expect(after[column]).toEqual(before[column]);
  });
});

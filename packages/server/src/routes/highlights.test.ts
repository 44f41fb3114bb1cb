/** Where documents match, over HTTP: filters, words of BM25 queries, snippets. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hybridSchema } from "@sheaf/client";
import { LIMITS } from "@sheaf/protocol";
import { type TestApp, startTestApp } from "../testing/test-app.ts";

const DOCUMENTS = {
  cat: "A small cat sleeps; cats sleeping on 😀 sofas are small.",
  train: "the steam train crosses a railway bridge",
  none: null,
};
/** Its documents are longer than a string that crosses processes, and have a match behind the first megabyte. */
const LONG = `${"wörd and word ".repeat(90_000)} lighthouse keeper`;

interface Range {
  readonly start: number;
  readonly end: number;
  readonly by: readonly string[];
}

interface Reply {
  readonly ids: readonly (readonly string[])[];
  readonly documents: readonly (readonly (string | null)[] | null)[];
  readonly highlights: readonly ((readonly Range[] | null)[] | null)[];
  readonly snippets: readonly (readonly { text: string; start: number; highlights: Range[] }[] | null)[];
}

let test: TestApp;
let path: string;
beforeAll(async () => {
  test = await startTestApp();
  path = await test.makeCollection({ name: "highlighted", schema: hybridSchema() });
  const json = {
    ids: Object.keys(DOCUMENTS),
    documents: Object.values(DOCUMENTS),
    embeddings: [null, null, Array.from({ length: 384 }, () => 0.1)],
  };
  const added = await test.ask(`POST ${path}/add`, { json });
  if (added.status !== 201) throw new Error(added.text);
});
afterAll(() => test.close());

async function search(...searches: unknown[]): Promise<Reply> {
  const { status, text, body } = await test.ask(`POST ${path}/search`, { json: { searches } });
  if (status !== 200) throw new Error(text);
  return body as Reply;
}

/** The marked parts of a document, with what found them. */
function marked(
  document: string,
  ranges: readonly Range[] | null | undefined,
): (readonly [string, string])[] {
  return (ranges ?? []).map(({ start, end, by }) => [document.slice(start, end), by.join("+")] as const);
}

describe("highlight of a search", () => {
  it("shows the words that a BM25 text query has in common with a document", async () => {
    const rank = { $knn: { query: "the smallest cats sleep", key: "bm25" } };
    const reply = await search({ rank, highlight: true, select: { keys: ["#document"] } });
    expect(reply.ids).toEqual([["cat"]]);
    expect(marked(DOCUMENTS.cat, reply.highlights[0]?.[0])).toEqual([
      ["cat", "$knn"],
      ["sleeps", "$knn"],
      ["cats", "$knn"],
      ["sleeping", "$knn"],
    ]);
  });

  it("shows what filters found, beside words, and nothing of what is negated", async () => {
    const where = {
      $and: [
        { "#document": { $regex: "(?i)A SMALL|sofas?" } },
        { $or: [{ "#document": { $contains: "leeps" } }, { "#document": { $contains: "dog" } }] },
        { "#document": { $not_contains: "train" } },
      ],
    };
    const rank = {
      $sum: [
        { $knn: { query: "sleeping on a sofa", key: "bm25" } },
        { $knn: { query: "sleeping on a sofa", default: 1 } },
      ],
    };
    const reply = await search({ where, rank, highlight: true });
    expect(marked(DOCUMENTS.cat, reply.highlights[0]?.[0])).toEqual([
      ["A small", "$regex"],
      ["sleeps", "$contains+$knn"],
      ["sleeping", "$knn"],
      ["sofas", "$regex+$knn"],
    ]);
    // Documents are found in without being shown.
    expect(reply.documents).toEqual([null]);
  });

  it("cuts a snippet where it is asked to, and leaves the other searches of a call as they are", async () => {
    const where = { "#document": { $contains: "sofas" } };
    const reply = await search(
      { where, highlight: { snippet: 20 } },
      { where, select: { keys: ["#document"] } },
      { where, highlight: true },
    );
    expect(reply.highlights.map((list) => list?.length ?? null)).toEqual([1, null, 1]);
    expect(reply.snippets).toEqual([
      [
        {
          text: "on 😀 sofas are",
          start: DOCUMENTS.cat.indexOf("on 😀"),
          highlights: [{ start: 6, end: 11, by: ["$contains"] }],
        },
      ],
      null,
      null,
    ]);
    const plain = await search({ where }, { where, highlight: false });
    expect(Object.keys(plain)).toEqual(["ids", "documents", "embeddings", "metadatas", "scores", "select"]);
  });

  it("is null for a record without a document, and empty where nothing matches", async () => {
    const reply = await search({ highlight: true });
    expect(reply.highlights).toEqual([[[], [], null]]);
  });

  it("refuses what it does not know, by its place", async () => {
    const refused = async (highlight: unknown) =>
      test.ask(`POST ${path}/search`, { json: { searches: [{ highlight }] } });
    for (const [highlight, status, place] of [
      ["yes", 422, "searches[0].highlight:"],
      [[], 422, "searches[0].highlight:"],
      [{ length: 5 }, 400, "searches[0].highlight.length"],
      [{ snippet: 0 }, 400, "searches[0].highlight.snippet:"],
      [{ snippet: LIMITS.snippetCharacters + 1 }, 400, "searches[0].highlight.snippet:"],
    ] as const) {
      const { status: got, text } = await refused(highlight);
      expect([highlight, got, text]).toEqual([highlight, status, expect.stringContaining(place)]);
    }
  });
});

describe("highlight of a get", () => {
  it("shows what its filters found", async () => {
    const json = { where_document: { $regex: "st[a-z]+" }, highlight: { snippet: 12 }, include: [] };
    const reply = await test.ask(`POST ${path}/get`, { json });
    expect(reply.body).toMatchObject({
      ids: ["train"],
      documents: null,
      highlights: [[{ start: 4, end: 9, by: ["$regex"] }]],
      snippets: [{ text: "steam train", start: 4, highlights: [{ start: 0, end: 5, by: ["$regex"] }] }],
    });
    const conditional = await test.ask(`POST ${path}/conditional/get`, { json });
    expect(conditional.body).toMatchObject(reply.body as object);
  });

  it("of long documents counts the same units, however far they lie behind", async () => {
    const name = "long";
    const long = await test.makeCollection({ name, configuration: { embedding_function: null } });
    const records = { ids: ["long", "short"], documents: [LONG, "wörd"], embeddings: [[1], [2]] };
    await test.ask(`POST ${long}/add`, { json: records });
    const where_document = { $or: [{ $contains: "lighthouse" }, { $regex: "^wörd" }] };
    const json = { where_document, highlight: { snippet: 40 }, include: [] };
    const { body } = await test.ask(`POST ${long}/get`, { json });
    const { highlights, snippets } = body as { highlights: Range[][]; snippets: { text: string }[] };
    const at = LONG.indexOf("lighthouse");
    expect(highlights).toEqual([
      [
        { start: 0, end: 4, by: ["$regex"] },
        { start: at, end: at + 10, by: ["$contains"] },
      ],
      [{ start: 0, end: 4, by: ["$regex"] }],
    ]);
    expect(snippets.map(({ text }) => text)).toEqual(["wörd and word wörd and word wörd and", "wörd"]);
    const far = { where_document: { $contains: "lighthouse" }, highlight: { snippet: 40 }, include: [] };
    expect((await test.ask(`POST ${long}/get`, { json: far })).body).toMatchObject({
      snippets: [{ text: "word wörd and word  lighthouse keeper", start: at - 20 }],
    });
  });
});

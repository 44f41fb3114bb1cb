/** BM25 with the statistics of the collection over HTTP: what is stored, what is found, and what changes the scores. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const DOCUMENTS = {
  short: "harbour pilots",
  long: "harbour dues, harbour pilots and the pilots of the river, who guide every vessel over shallow sands",
  other: "a loaf of bread",
};

interface BM25Trace {
  readonly value: number;
  readonly dot_product: number;
  readonly terms: readonly {
    readonly token: string;
    readonly query: number;
    readonly record: number;
    readonly frequency: number;
  }[];
}

let test: TestApp;
let made = 0;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

async function collection(config: object, name = "sheaf"): Promise<string> {
  const index = {
    enabled: true,
    config: { bm25: true, source_key: "#document", embedding_function: { type: "known", name, config } },
  };
  const schema = { keys: { words: { sparse_vector: { sparse_vector_index: index } } } };
  return test.makeCollection({ name: `bm25-${made++}`, schema });
}

async function add(path: string, documents: Readonly<Record<string, string>>): Promise<void> {
  const embeddings = Object.keys(documents).map(() => [1]);
  const json = { ids: Object.keys(documents), embeddings, documents: Object.values(documents) };
  expect((await test.ask(`POST ${path}/add`, { json })).status).toBe(201);
}

async function search(path: string, query: unknown): Promise<readonly (readonly [string, number])[]> {
  const json = { searches: [{ rank: { $knn: { query, key: "words" } }, select: { keys: ["#score"] } }] };
  const { status, body, text } = await test.ask(`POST ${path}/search`, { json });
  if (status !== 200) throw new Error(text);
  const { ids, scores } = body as { ids: string[][]; scores: number[][] };
  return ids[0]!.map((id, i) => [id, scores[0]![i]!]);
}

/** The score of a document of that length that has the term so often, by the formula of the reference. */
function score(tf: number, length: number, { average, holders, documents }: Record<string, number>): number {
  const idf = Math.log(1 + (documents! - holders! + 0.5) / (holders! + 0.5));
  return (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * length) / average!));
}

describe("a bm25 index with the statistics of the collection", () => {
  it("stores frequencies, and scores by the records that there are now", async () => {
    const path = await collection({ model: "sheaf/bm25" });
    await add(path, DOCUMENTS);
    const { body } = await test.ask(`POST ${path}/get`, { json: { ids: ["long"] } });
    const [metadata] = (body as { metadatas: Record<string, { values: number[] }>[] }).metadatas;
    expect(metadata?.["words"]?.values.toSorted((a, b) => b - a).slice(0, 3)).toEqual([2, 2, 1]);
    const lengths = { short: 2, long: 11, other: 2 };
    const all = { average: 5, holders: 2, documents: 3 };
    expect(new Map(await search(path, "harbours"))).toEqual(
      new Map([
        ["long", expect.closeTo(1 - score(2, lengths.long, all), 5)],
        ["short", expect.closeTo(1 - score(1, lengths.short, all), 5)],
      ]),
    );
    await test.ask(`POST ${path}/delete`, { json: { ids: ["other"] } });
    const less = { average: 6.5, holders: 2, documents: 2 };
    const found = new Map(await search(path, "harbour harbour"));
    const twice = (2 * 2.2) / (2 + 1.2);
    expect(found.get("short")).toBeCloseTo(1 - twice * score(1, lengths.short, less), 5);
    expect(found.get("long")).toBeCloseTo(1 - twice * score(2, lengths.long, less), 5);
  });

  it("is explained by what frequencies count", async () => {
    const path = await collection({ model: "sheaf/bm25" });
    await add(path, DOCUMENTS);
    const rank = { $knn: { query: "pilots of the harbour", key: "words" } };
    const json = { searches: [{ rank, select: { keys: ["#score"] }, explain: true }] };
    const { body } = await test.ask(`POST ${path}/search`, { json });
    const { scores, traces } = body as { scores: number[][]; traces: BM25Trace[][] };
    expect(traces[0]).toHaveLength(2);
    const f = Math.fround;
    for (const [i, { value, dot_product: product, terms }] of traces[0]!.entries()) {
      expect(terms.map(({ token }) => token).toSorted()).toEqual(["harbour", "pilot"]);
      const sum = terms.reduce((all, { query, record }) => f(all + f(f(query) * f(record))), 0);
      expect([f(product), f(value), f(scores[0]![i]!)]).toEqual([sum, f(1 - sum), f(1 - sum)]);
      for (const { record, frequency } of terms) expect(record).toBeLessThan(frequency);
    }
    expect(traces[0]!.flatMap(({ terms }) => terms.map(({ frequency }) => frequency))).toEqual(
      expect.arrayContaining([1, 2]),
    );
  });

  it("takes vectors of frequencies from clients, and weights of a query", async () => {
    const path = await collection({ model: "sheaf/bm25", k: 1.2, b: 0.75 });
    const words = { "#type": "sparse_vector", indices: [3, 9], values: [2, 3] };
    const json = { ids: ["a", "b"], embeddings: [[1], [1]], metadatas: [{ words }, null] };
    expect((await test.ask(`POST ${path}/add`, { json })).status).toBe(201);
    const one = { average: 5, holders: 1, documents: 1 };
    expect(await search(path, { indices: [9], values: [0.5] })).toEqual([
      ["a", expect.closeTo(1 - 0.5 * score(3, 5, one), 5)],
    ]);
  });

  it("goes with a fork and answers alike", async () => {
    const path = await collection({ model: "sheaf/bm25" });
    await add(path, DOCUMENTS);
    const { body } = await test.ask(`POST ${path}/fork`, { json: { new_name: `fork-${made++}` } });
    const fork = `${COLLECTIONS}/${(body as { id: string }).id}`;
    expect(await search(fork, "river pilots")).toEqual(await search(path, "river pilots"));
    await add(fork, { more: "pilots" });
    expect(await search(fork, "pilots")).not.toEqual(await search(path, "pilots"));
  });

  it("with fixed statistics is the function of Chroma", async () => {
    const [own, chroma] = [
      await collection({ model: "sheaf/bm25", statistics: "fixed", avg_doc_length: 5 }),
      await collection({ avg_doc_length: 5 }, "chroma_bm25"),
    ];
    for (const path of [own, chroma]) await add(path, DOCUMENTS);
    const found = await search(own, "river pilots");
    expect(found).toHaveLength(2);
    expect(found).toEqual(await search(chroma, "river pilots"));
  });
});

/** Arguments of another shape and misspelt members are refused by name, before anything is sent. */
import { describe, expect, it } from "vitest";
import { SheafClient } from "./client.ts";
import { UnreachableError } from "./errors.ts";
import { hybridSchema } from "./catalog/hybrid-schema.ts";
import { knn } from "./search/knn.ts";
import { rrf } from "./search/rrf.ts";

/** What is read of the answers to all routes that are called. */
const ANSWER = {
  ...{ id: "00000000-0000-4000-8000-000000000000", name: "notes", tenant: "t", database: "d" },
  ...{ ids: [[]], deleted: 0, embeddings: [], num_tokens: 0, max_batch_size: 10 },
};
const sent: string[] = [];
const options = {
  url: "http://127.0.0.1:1",
  fetch: (url: unknown): Promise<Response> => {
    sent.push(String(url));
    return Promise.resolve(Response.json(ANSWER));
  },
};
const client = new SheafClient(options);
const collection = await client.getCollection({ name: "notes" });
/** As programs in JavaScript pass it, unseen by the compiler. */
const wrong = (value: object): never => value as never;

describe("the client", () => {
  it.each<[string, () => unknown]>([
    ["options.apiKey", () => new SheafClient(wrong({ url: options.url, apiKey: "k" }))],
    ["params.get_or_create", () => client.createCollection(wrong({ name: "notes", get_or_create: true }))],
    ["params.instruction", () => client.embed(wrong({ model: "m", texts: [], instruction: "" }))],
    ["params.tasks", () => client.embedSparse(wrong({ model: "m", texts: [], tasks: "" }))],
    ["params.record", () => collection.add(wrong({ record: [] }))],
    [
      "params.records[1].metadatas",
      () => collection.add({ records: [{ id: "a" }, wrong({ id: "b", metadatas: {} })] }),
    ],
    ["params.records[0].text", () => collection.upsert({ records: [wrong({ id: "a", text: "" })] })],
    ["params.records[0].text", () => collection.update({ records: [wrong({ id: "a", text: "" })] })],
    ["params.id", () => collection.delete(wrong({ id: ["a"] }))],
    ["params.include", () => collection.get(wrong({ include: ["documents"] }))],
    ["params.nResults", () => collection.query(wrong({ embeddings: [[1]], nResults: 1 }))],
    ["params.group_by", () => collection.search(wrong({ group_by: {} }))],
    ["params.searches[1].filter", () => collection.searchAll({ searches: [{}, wrong({ filter: {} })] })],
    ["params.searches[0].signal", () => collection.searchAll({ searches: [wrong({ signal: null })] })],
    ["params.timeout", () => collection.count(wrong({ timeout: 5 }))],
    [
      "params.operations[0].payload",
      () => collection.conditionalCommit(wrong({ operations: [{ payload: {} }] })),
    ],
    ["params.return_rank", () => knn(wrong({ query: "q", return_rank: true }))],
    ["params.ranks[0].return_rank", () => rrf({ ranks: [wrong({ query: "q", return_rank: true })] })],
    ["params.page", () => client.listCollections(wrong({ page: 1 }))],
    ["params.limits.tokens", () => client.createKey(wrong({ name: "k", limits: { tokens: 1 } }))],
    ["params.leaves", () => rrf(wrong({ leaves: [] }))],
    ["params.sparse_key", () => hybridSchema(wrong({ sparse_key: "bm25" }))],
  ])("refuses %s", async (path, call) => {
    sent.length = 0;
    const outcome = Promise.resolve().then(call);
    await expect(outcome).rejects.toBeInstanceOf(TypeError);
    await expect(outcome).rejects.toThrow(`${path}: unknown member; known: `);
    expect(sent).toEqual([]);
  });

  it.each<[string, () => unknown]>([
    ["options.url: must be the address of a server", () => new SheafClient(wrong({}))],
    ["options.url: must be the address of a server", () => new SheafClient({ url: "127.0.0.1:8000" })],
    ["options.url: must have no query", () => new SheafClient({ url: "http://127.0.0.1:1/?a=1" })],
    ["options.url: must have no query", () => new SheafClient({ url: "http://127.0.0.1:1/#a" })],
    ["options.key: has characters that", () => new SheafClient({ ...options, key: "k\u2026y" })],
    ["options.retries: must be an integer", () => new SheafClient({ ...options, retries: -1 })],
    ["options.timeoutMs: must be a number over 0", () => new SheafClient({ ...options, timeoutMs: 0 })],
    ["params.timeoutMs: must be a number over 0", () => client.heartbeat({ timeoutMs: -1 })],
    ["params: must be an object", () => client.getCollection(wrong("notes" as never))],
    ["params: must be an object", () => collection.search(wrong([{ limit: 1 }]))],
    ["params.searches: must be an array", () => collection.searchAll(wrong({ searches: { limit: 1 } }))],
    ["params.searches[0]: must be an object", () => collection.searchAll({ searches: [wrong([])] })],
    ["params: must be an object", () => collection.add(wrong([{ id: "a" }]))],
    ["params.records: must be an array", () => collection.add(wrong({ records: { id: "a" } }))],
    ["params.records[0]: must be an object", () => collection.add({ records: ["a" as never] })],
    [
      "params.batchSize: must be a positive integer",
      () => collection.add({ records: [{ id: "a", embedding: [1] }], batchSize: 0 }),
    ],
    [
      "params.records[0].metadata.keep: must be finite",
      () => collection.upsert({ records: [{ id: "a", metadata: { keep: Number.NaN } }] }),
    ],
    [
      "params.records[1].metadata.all: must be finite",
      () => collection.add({ records: [{ id: "a" }, { id: "b", metadata: { all: [1, Infinity] } }] }),
    ],
    [
      "params.records[0].metadata: must be a plain object",
      () => collection.update({ records: [{ id: "a", metadata: wrong(new Map([["k", 1]])) }] }),
    ],
    [
      "params.records[0].embedding: must be an array of numbers",
      () => collection.add({ records: [{ id: "a", embedding: wrong(["1", 1, 2]) }] }),
    ],
    [
      "params.operations[0].records[0].metadata.k: must be finite",
      () =>
        collection.conditionalCommit({
          operations: [{ operation: "add", records: [{ id: "a", metadata: { k: -Infinity } }] }],
        }),
    ],
    ["params.pageSize: must be a positive integer", () => collection.records({ pageSize: 0 })],
    ["params.select: unknown key #score", () => collection.get({ select: ["#score" as never] })],
    ["params.ranks: must be an array", () => rrf(wrong({ ranks: { query: "q" } }))],
    ["params.ranks: must not be empty", () => rrf({ ranks: [] })],
    ["params.weights: must have as many items", () => rrf({ ranks: [{ query: "q" }], weights: [1, 2] })],
    ["params.ranks[0]: must be an object", () => rrf({ ranks: ["q" as never] })],
    ["params.query: must hold finite numbers", () => knn({ query: [1, Number.NaN] })],
  ])("refuses another shape: %s", async (message, call) => {
    sent.length = 0;
    const outcome = Promise.resolve().then(call);
    await expect(outcome).rejects.toBeInstanceOf(TypeError);
    await expect(outcome).rejects.toThrow(message);
    expect(sent).toEqual([]);
  });

  it("says that no server answers, and passes an abort on", async () => {
    const away = new SheafClient({ url: "http://127.0.0.1:1/" });
    await expect(away.heartbeat()).rejects.toThrow("no answer from http://127.0.0.1:1: ");
    await expect(away.heartbeat()).rejects.toBeInstanceOf(UnreachableError);
    const reason = new Error("stopped");
    await expect(away.heartbeat({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it("sends what is spelled right", async () => {
    sent.length = 0;
    const { signal } = new AbortController();
    const rank = rrf({
      ranks: [{ query: "q", key: "bm25", limit: 5, default: 9, exact: true }],
      k: 1,
      weights: [2],
    });
    await collection.search({
      where: {},
      rank,
      limit: 1,
      offset: 0,
      select: ["#id"],
      signal,
      timeoutMs: 9_000,
    });
    await collection.add({ records: [{ id: "a", document: "d", uri: "u", metadata: {} }], signal });
    await collection.delete({ ids: ["a"], where: {}, signal: undefined });
    await client.embed({ model: "m", texts: ["t"], instructions: "", signal });
    expect(sent).toHaveLength(4);
  });
});

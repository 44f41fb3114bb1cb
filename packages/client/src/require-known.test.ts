/** Arguments of another shape and misspelt members are refused by name, before anything is sent. */
import { describe, expect, it } from "vitest";
import { SheafClient } from "./client.ts";
import { Collection } from "./collection.ts";
import { UnreachableError } from "./errors.ts";
import { hybridSchema } from "./schema.ts";
import { knn } from "./search/knn.ts";
import { rrf } from "./search/rrf.ts";
import { Transport } from "./transport.ts";

const sent: string[] = [];
const options = {
  url: "http://127.0.0.1:1",
  fetch: (url: unknown): Promise<Response> => {
    sent.push(String(url));
    return Promise.resolve(Response.json({ ids: [[]], deleted: 0, embeddings: [], num_tokens: 0 }));
  },
};
const client = new SheafClient(options);
const collection = new Collection(new Transport(options), {
  id: "00000000-0000-4000-8000-000000000000",
  name: "notes",
  tenant: "default_tenant",
  database: "default_database",
  dimension: null,
  metadata: null,
});
/** As programs in JavaScript pass it, unseen by the compiler. */
const wrong = (value: object): never => value as never;

describe("the client", () => {
  it.each<[string, () => unknown]>([
    ["options.apiKey", () => new SheafClient(wrong({ url: options.url, apiKey: "k" }))],
    ["params.get_or_create", () => client.createCollection(wrong({ name: "notes", get_or_create: true }))],
    ["params.instruction", () => client.embed(wrong({ model: "m", texts: [], instruction: "" }))],
    ["params.task", () => client.embedSparse(wrong({ model: "m", texts: [], task: "" }))],
    ["records[1].metadatas", () => collection.add([{ id: "a" }, wrong({ id: "b", metadatas: {} })])],
    ["records[0].text", () => collection.upsert([wrong({ id: "a", text: "" })])],
    ["records[0].text", () => collection.update([wrong({ id: "a", text: "" })])],
    ["selector.id", () => collection.delete(wrong({ id: ["a"] }))],
    ["params.group_by", () => collection.search(wrong({ group_by: {} }))],
    ["searches[1].filter", () => collection.searchAll([{}, wrong({ filter: {} })])],
    ["options.timeout", () => collection.count(wrong({ timeout: 5 }))],
    ["params.return_rank", () => knn(wrong({ query: "q", return_rank: true }))],
    ["params.ranks[0].return_rank", () => rrf({ ranks: [wrong({ query: "q", return_rank: true })] })],
    ["params.pageSize", () => client.listCollections(wrong({ pageSize: 1 }))],
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
    ["params: must be an object", () => collection.search(wrong([{ limit: 1 }]))],
    ["searches: must be an array", () => collection.searchAll(wrong({ limit: 1 }))],
    ["searches[0]: must be an object", () => collection.searchAll([wrong([])])],
    ["records: must be an array", () => collection.add(wrong({ id: "a" }))],
    ["records[0]: must be an object", () => collection.add(["a" as never])],
    ["params.ranks: must be an array", () => rrf(wrong({ ranks: { query: "q" } }))],
    ["params.ranks: must not be empty", () => rrf({ ranks: [] })],
    ["params.weights: must have as many items", () => rrf({ ranks: [{ query: "q" }], weights: [1, 2] })],
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
    await collection.search({ where: {}, rank, limit: 1, offset: 0, select: ["#id"] }, { signal });
    await collection.add([{ id: "a", embedding: [1], document: "d", uri: "u", metadata: {} }]);
    await collection.delete({ ids: ["a"], where: {} });
    await client.embed({ model: "m", texts: ["t"], instructions: "" }, { signal });
    expect(sent).toHaveLength(4);
  });
});

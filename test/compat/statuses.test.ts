/**
 * Every status and `error` name that any v2 route can answer with, and those of the record routes; one row per way to
 * meet one. Tenants to schemas, searches and the embedding routes have tables of their own beside this.
 */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { refusal, refused } from "./testing/refusal.ts";
import { ask, DATABASE, expectOk, newCollection, type Question } from "./testing/wire.ts";

let served: ServedSheaf;
/** Path of a collection of two records with two dimensions. */
let records: string;

beforeAll(async () => {
  served = await ServedSheaf.start();
  records = await newCollection(served, { name: "known" });
  await ask(served, {
    path: `${records}/add`,
    json: {
      ids: ["a", "b"],
      embeddings: [
        [1, 0],
        [0, 1],
      ],
    },
  });
});

afterAll(async () => {
  await served.dispose();
});

describe("bodies and query strings", () => {
  it.each<[string, Omit<Question, "path"> & { readonly route: string }, number, RegExp]>([
    ["broken JSON", { route: "get", body: "{" }, 400, /./u],
    ["no body", { route: "get", method: "POST", body: "" }, 400, /./u],
    ["NaN", { route: "get", body: '{"limit": NaN}' }, 400, /./u],
    ["a number out of range", { route: "add", body: '{"ids":["x"],"embeddings":[[1e400,1]]}' }, 400, /./u],
    ["JSON that is no object", { route: "get", body: "[]" }, 422, /must be an object/u],
    ["a wrong type", { route: "get", json: { ids: "a" } }, 422, /^ids: /u],
    ["a wrong type inside", { route: "get", json: { ids: ["a", 1] } }, 422, /^ids\[1\]: /u],
    ["a missing field", { route: "add", json: { embeddings: [[1, 2]] } }, 422, /^ids: /u],
    ["a field twice", { route: "get", body: '{"ids":["a"],"ids":["b"]}' }, 422, /^ids: is given twice$/u],
    [
      "a field twice inside",
      { route: "get", body: '{"where":{"$and":[{"n":1},{"n":1,"n":2}]}}' },
      422,
      /^where\.\$and\[1\]\.n: is given twice$/u,
    ],
    ["a negative limit", { route: "get", json: { limit: -1 } }, 422, /^limit: /u],
    ["an unknown include", { route: "get", json: { include: ["data"] } }, 422, /^include\[0\]: /u],
    [
      "another Content-Type",
      { route: "get", body: "{}", headers: { "content-type": "text/plain" } },
      415,
      /application\/json/u,
    ],
    ["a bad read level", { route: "count?read_level=all" }, 400, /^read_level: /u],
  ])("%s", async (_, { route, ...question }, status, message) => {
    const path = `${records}/${route}`;
    expect(await refusal(served, { ...question, path })).toEqual(refused(status, message));
  });

  it("a bad page of a list", async () => {
    const path = `${DATABASE}/collections?limit=-1`;
    expect(await refusal(served, { path })).toEqual(refused(400, /^limit: /u));
  });

  it("no Content-Type at all is read as JSON", async () => {
    const body = new TextEncoder().encode('{"ids":["a"]}');
    const { status, text } = await ask(served, {
      path: `${records}/get`,
      body,
      headers: { "content-type": null },
    });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ ids: ["a"] });
  });

  it("a body over the limit", async () => {
    const body = new Uint8Array(LIMITS.bodyBytes + 1);
    expect(await refusal(served, { path: `${records}/get`, body })).toEqual(refused(413, /./u));
  });
});

describe("keys and paths", () => {
  const reset = { method: "POST", path: "/api/v2/reset" };
  const key = (token: string | null) => ({ headers: { "x-chroma-token": token } });
  const versionOne = "/api/v1/collections";

  it.each<[string, Question, number, RegExp]>([
    ["no key", { path: `${DATABASE}/collections`, ...key(null) }, 401, /key is required/u],
    ["a wrong key", { path: `${DATABASE}/collections`, ...key("wrong") }, 401, /not valid/u],
    [
      "a wrong key comes before a wrong body",
      { path: "/api/v2/tenants", body: "{", ...key("wrong") },
      401,
      /./u,
    ],
    ["reset where it is off", reset, 403, /Reset is disabled by config/u],
    ["an unknown path", { path: "/api/v2/nothing" }, 404, /./u],
    ["an unknown method", { method: "PATCH", path: "/api/v2/heartbeat" }, 405, /GET/u],
    ["GET of the first version", { path: versionOne }, 410, /Please use \/v2 apis/u],
    ["DELETE of the first version", { method: "DELETE", path: versionOne }, 410, /v2/u],
    ["POST of the first version", { path: versionOne, json: {} }, 405, /./u],
  ])("%s", async (_, question, status, message) => {
    expect(await refusal(served, question)).toEqual(refused(status, message));
  });

  it("a refusal is JSON and carries the id of its request", async () => {
    const { headers } = await ask(served, { path: "/api/v2/tenants/nobody" });
    expect(headers.get("content-type")).toMatch(/^application\/json/u);
    expect(headers.get("x-request-id")).toMatch(/./u);
    expect(headers.get("chroma-trace-id")).toBe(headers.get("x-request-id"));
  });

  it("405 says what the path takes", async () => {
    const { headers } = await ask(served, { method: "DELETE", path: "/api/v2/heartbeat" });
    expect(headers.get("allow")).toMatch(/\bGET\b/u);
  });
});

describe("keys of a tenant", () => {
  const newKey = async (more: object) => {
    const json = { name: "bound", tenant: "default_tenant", scopes: ["read"], ...more };
    const { key } = await expectOk<{ key: string }>(served, { path: "/api/v2/keys", json });
    return { "x-chroma-token": key };
  };

  it.each<[string, object, Question, RegExp]>([
    ["another tenant", {}, { path: "/api/v2/tenants/other-tenant" }, /tenant/u],
    ["a tenant that does not exist", {}, { path: "/api/v2/tenants/nobody/databases" }, /tenant/u],
    ["a scope that it lacks", {}, { path: `${DATABASE}/collections`, json: { name: "more" } }, /scope/u],
    [
      "what is everybody's",
      { scopes: ["admin"] },
      { path: "/api/v2/tenants", json: { name: "more" } },
      /tenant/u,
    ],
    [
      "another database",
      { database: "default_database" },
      { path: "/api/v2/tenants/default_tenant/databases/second/collections" },
      /database/u,
    ],
    ["embedding", {}, { path: "/embed", json: { texts: [], instructions: "" } }, /scope/u],
  ])("do not reach %s: 403", async (_, more, question, message) => {
    const { status, text } = await ask(served, { ...question, headers: await newKey(more) });
    expect(status).toBe(403);
    expect((JSON.parse(text) as { message?: string; error: string }).message ?? text).toMatch(message);
  });
});

describe("attached functions", () => {
  it.each<[string, object | undefined]>([
    ["functions/attach", { name: "stats", function_id: "statistics", output_collection: "out" }],
    ["functions/stats", undefined],
    ["attached_functions/stats/add_input", {}],
    ["attached_functions/stats/detach", {}],
  ])("%s: 501", async (route, json) => {
    const path = `${records}/${route}`;
    const question = json === undefined ? { path } : { path, json };
    expect(await refusal(served, question)).toEqual(refused(501, /attached functions are not supported/u));
  });
});

describe("records", () => {
  const one = { ids: ["x"], embeddings: [[1, 2]] };

  it.each<[string, string, object, number, RegExp]>([
    ["an id that is empty", "add", { ...one, ids: [""] }, 400, /^ids\[0\]: /u],
    ["fewer embeddings than ids", "add", { ...one, ids: ["x", "y"] }, 400, /embeddings/u],
    ["more documents than ids", "add", { ...one, documents: ["x", "y"] }, 400, /documents/u],
    ["an embedding without numbers", "add", { ...one, embeddings: [[]] }, 400, /embeddings/u],
    ["embeddings of two lengths", "add", { ids: ["x", "y"], embeddings: [[1, 2], [1]] }, 400, /dimension/u],
    [
      "an embedding of another length",
      "add",
      { ...one, embeddings: [[1, 2, 3]] },
      400,
      /dimension of 2, got 3/u,
    ],
    ["a number over 32 bits", "add", { ...one, embeddings: [[1e39, 1]] }, 400, /embeddings/u],
    ["base64 that is none", "add", { ...one, embeddings: ["!!!!"] }, 400, /embeddings\[0\]/u],
    ["base64 of three bytes", "add", { ...one, embeddings: ["AAAA"] }, 400, /embeddings\[0\]/u],
    ["base64 of NaN", "add", { ...one, embeddings: ["AADAfwAAwH8="] }, 400, /embeddings\[0\]/u],
    ["neither embedding nor function", "add", { ids: ["x"], documents: ["text"] }, 400, /./u],
    ["a reserved metadata key", "add", { ...one, metadatas: [{ $k: 1 }] }, 400, /metadatas\[0\]/u],
    ["a nested object", "add", { ...one, metadatas: [{ k: { l: 1 } }] }, 422, /metadatas\[0\]\.k/u],
    ["a list of two types", "add", { ...one, metadatas: [{ k: [1, "x"] }] }, 422, /metadatas\[0\]\.k/u],
    [
      "sparse indices out of order",
      "add",
      { ...one, metadatas: [{ k: { "#type": "sparse_vector", indices: [2, 1], values: [1, 1] } }] },
      400,
      /metadatas\[0\]\.k.*ascending/u,
    ],
    [
      "sparse lengths that differ",
      "add",
      { ...one, metadatas: [{ k: { "#type": "sparse_vector", indices: [1, 2], values: [1] } }] },
      400,
      /metadatas\[0\]\.k.*length/u,
    ],
    ["a query of another length", "query", { query_embeddings: [[1, 2, 3]] }, 400, /dimension of 2, got 3/u],
    ["a query without vectors", "query", {}, 422, /query_embeddings/u],
    ["an empty filter", "get", { where: {} }, 400, /where/u],
    ["two keys in one filter", "get", { where: { a: 1, b: 2 } }, 400, /where/u],
    ["two operators in one", "get", { where: { a: { $gt: 1, $lt: 2 } } }, 400, /where\.a/u],
    ["an unknown operator", "get", { where: { a: { $foo: 1 } } }, 400, /where\.a.*\$foo/u],
    ["an order of strings", "get", { where: { a: { $gt: "x" } } }, 400, /where\.a\.\$gt/u],
    ["a list of nothing", "get", { where: { a: { $in: [] } } }, 400, /where\.a\.\$in/u],
    ["a list of two types to match", "get", { where: { a: { $in: [1, "x"] } } }, 400, /where\.a\.\$in/u],
    ["a pattern on metadata", "get", { where: { a: { $regex: "x" } } }, 400, /where\.a/u],
    ["a pattern that is none", "get", { where_document: { $regex: "(" } }, 400, /where_document\.\$regex/u],
    ["equality of documents", "get", { where: { "#document": "x" } }, 400, /#document/u],
    ["an empty document filter", "get", { where_document: {} }, 400, /where_document/u],
    ["deleting no ids", "delete", { ids: [] }, 400, /ids/u],
    ["a limit of deletions without a filter", "delete", { ids: ["a"], limit: 1 }, 400, /limit/u],
  ])("%s", async (...[, route, json, status, message]) => {
    expect(await refusal(served, { path: `${records}/${route}`, json })).toEqual(refused(status, message));
  });
});

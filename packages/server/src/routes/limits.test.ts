/** Bounds of requests that no test beside a parser holds: at the bound and over it, through the server. */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_DEADLINE_SECONDS } from "../http/deadline.ts";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const TENANTS = "/api/v2/tenants";

let test: TestApp;
let records: string;
beforeAll(async () => {
  test = await startTestApp();
  records = await test.makeCollection({ name: "limits" });
});
afterAll(() => test.close());

const post = async (path: string, json: unknown): Promise<number> =>
  (await test.ask(`POST ${path}`, { json })).status;

const withMetadata = (metadata: object): object => ({
  ids: ["a"],
  embeddings: [[1, 2]],
  metadatas: [metadata],
});

const keys = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, true]));

describe("at the bound and over it", () => {
  it("metadata keys of a record", async () => {
    expect(await post(`${records}/upsert`, withMetadata(keys(LIMITS.metadataKeys)))).toBe(200);
    expect(await post(`${records}/upsert`, withMetadata(keys(LIMITS.metadataKeys + 1)))).toBe(400);
  });

  it("bytes of a metadata value", async () => {
    const text = (bytes: number): object => withMetadata({ text: "x".repeat(bytes) });
    expect(await post(`${records}/upsert`, text(LIMITS.metadataValueBytes))).toBe(200);
    expect(await post(`${records}/upsert`, text(LIMITS.metadataValueBytes + 1))).toBe(400);
  });

  it("the shortest names", async () => {
    expect(await post(TENANTS, { name: "t".repeat(LIMITS.tenantNameBytesMin) })).toBe(200);
    expect(await post(TENANTS, { name: "t".repeat(LIMITS.tenantNameBytesMin - 1) })).toBe(400);
    expect(await post(COLLECTIONS, { name: "c".repeat(LIMITS.nameCharactersMin) })).toBe(200);
    expect(await post(COLLECTIONS, { name: "c".repeat(LIMITS.nameCharactersMin - 1) })).toBe(400);
  });

  it("the batch size that clients are told", async () => {
    const { body } = await test.ask("GET /api/v2/pre-flight-checks", { key: null });
    expect(body).toMatchObject({ max_batch_size: LIMITS.advertisedBatchSize });
    // Whoever does not ask may send more.
    expect(LIMITS.advertisedBatchSize).toBeLessThan(LIMITS.recordsPerWrite);
  });

  it("the times of a request are those of the table", () => {
    expect(DEFAULT_DEADLINE_SECONDS).toEqual({
      request: LIMITS.requestSeconds,
      bulk: LIMITS.bulkRequestSeconds,
    });
  });

  it("the number of API keys", async () => {
    const json = { name: "k", tenant: null, scopes: ["read"] };
    expect(await post("/api/v2/keys", json)).toBe(200);
    const [template] = await test.engine.listKeys();
    if (template === undefined) throw new Error("the key is there");
    const more = Array.from({ length: LIMITS.keys - 1 }, (_, i) =>
      test.engine.createKey({ ...template, id: `key_${i}` }),
    );
    await Promise.all(more);
    expect((await test.engine.listKeys()).length).toBe(LIMITS.keys);
    expect(await test.ask("POST /api/v2/keys", { json })).toMatchObject({
      status: 422,
      body: { message: expect.stringMatching(/^Quota exceeded/) },
    });
  });
});

/** Conditional transactions over HTTP, in the form in which clients send them. */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const FUNCTION = { type: "known", name: "default", config: {} };

let test: TestApp;
let path: string;
let names = 0;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());
beforeEach(async () => {
  path = await test.makeCollection({ name: `transactions-${names++}` });
  const json = { ids: ["a", "b"], embeddings: [[1], [2]], documents: ["one", "two"] };
  await test.ask(`POST ${path}/add`, { json });
});

async function read(json: Readonly<Record<string, unknown>>): Promise<number> {
  const { status, body } = await test.ask(`POST ${path}/conditional/get`, { json });
  expect(status).toBe(200);
  return (body as { read_token: number }).read_token;
}

function commit(json: Readonly<Record<string, unknown>>, at = path) {
  return test.ask(`POST ${at}/conditional/commit`, { json });
}

const write = (operation: string, payload: Readonly<Record<string, unknown>>) => ({ operation, payload });

describe("a transaction", () => {
  it("reads like get, keeps its token, and commits all of its operations", async () => {
    const { body } = await test.ask(`POST ${path}/conditional/get`, { json: { ids: ["a", "c"] } });
    const { read_token: token, ...columns } = body as { read_token: number };
    expect(columns).toEqual((await test.ask(`POST ${path}/get`, { json: { ids: ["a", "c"] } })).body);
    expect(await read({ ids: ["b"], read_token: token })).toBe(token);
    const operations = [
      write("add", { ids: ["c"], embeddings: [[3]], documents: ["three"], uris: null, metadatas: null }),
      write("update", { ids: ["a"], embeddings: null, documents: ["changed"] }),
      write("delete", { ids: ["b"], where: null, where_document: null, limit: null }),
    ];
    const reply = await commit({ read_token: token, read_ids: ["a", "b", "c"], operations });
    expect(reply).toMatchObject({
      status: 200,
      body: { first_inserted_record_offset: 3, record_count: 3 },
    });
    expect((await test.ask(`POST ${path}/get`, { json: {} })).body).toMatchObject({
      ids: ["a", "c"],
      documents: ["changed", "three"],
    });
  });

  it("is 409 when a record that it read has changed, at its next read and at its commit", async () => {
    const token = await read({ ids: ["a"] });
    await test.ask(`POST ${path}/delete`, { json: { ids: ["a"] } });
    const conflict = { status: 409, body: { error: "ConditionalWriteConflictError" } };
    const again = { ids: ["a"], read_token: token };
    expect(await test.ask(`POST ${path}/conditional/get`, { json: again })).toMatchObject(conflict);
    const operations = [write("upsert", { ids: ["b"], documents: ["lost"] })];
    expect(await commit({ read_token: token, read_ids: ["a"], operations })).toMatchObject(conflict);
    expect((await test.ask(`POST ${path}/get`, { json: {} })).body).toMatchObject({ documents: ["two"] });
  });

  it("is 412 with a token of a fork", async () => {
    const token = await read({ ids: ["a"] });
    const { body } = await test.ask(`POST ${path}/fork`, { json: { new_name: `fork-${names++}` } });
    const fork = `${COLLECTIONS}/${(body as { id: string }).id}`;
    const reply = await commit({ read_token: token, read_ids: ["a"], operations: [] }, fork);
    expect(reply).toMatchObject({ status: 412, body: { error: "StaleReadError" } });
  });

  it("is 400 with garbage for a token, and with read ids and none", async () => {
    for (const json of [{ read_token: -1 }, { read_ids: ["a"] }]) {
      const reply = await commit({ operations: [], ...json });
      expect(reply).toMatchObject({ status: 400, body: { error: "InvalidArgumentError" } });
    }
  });

  it("gets the vectors that it leaves to the server, or stores nothing", async () => {
    const at = await test.makeCollection({
      name: `transactions-${names++}`,
      configuration: { embedding_function: FUNCTION },
    });
    const operations = [
      write("add", { ids: ["a"], documents: ["a text"] }),
      write("upsert", { ids: ["b"], documents: ["another"] }),
    ];
    expect((await commit({ read_ids: [], operations }, at)).status).toBe(200);
    const { body } = await test.ask(`POST ${at}/get`, { json: { include: ["embeddings"] } });
    const { embeddings } = body as { embeddings: number[][] };
    expect(embeddings.map((embedding) => embedding.length)).toEqual([384, 384]);
    const long = "word ".repeat(1_000);
    const tooLong = [...operations, write("add", { ids: ["c", "d"], documents: ["fits", long] })];
    expect((await commit({ operations: tooLong }, at)).status).toBe(413);
    expect((await test.ask(`GET ${at}/count`)).text).toBe("2");
  });

  it("takes no more records in a later read than a commit can name", async () => {
    const token = await read({ ids: ["a"] });
    const ids = Array.from({ length: LIMITS.readIdsPerCommit + 1 }, (_, i) => `n${i}`);
    const reply = await test.ask(`POST ${path}/conditional/get`, { json: { ids, read_token: token } });
    expect(reply.status).toBe(400);
  });
});

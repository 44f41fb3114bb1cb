/** Which calls of the engine a write takes. */
import type { Engine } from "@sheaf/engine";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { intercept } from "../request/intercept.ts";
import { type TestApp, startTestApp } from "../testing/test-app.ts";

let test: TestApp;
let counted: Engine | null = null;
const calls: string[] = [];

beforeAll(async () => {
  test = await startTestApp({
    engine: () =>
      (counted ??= intercept(test.engine, (name, method) => (...args) => {
        calls.push(name);
        return method(...args);
      })),
  });
});
afterAll(() => test.close());
beforeEach(() => void calls.splice(0));

const GIVEN = { ids: ["a"], embeddings: [[1, 2]], documents: ["boats in port"] };

it("stores vectors that are given in one call", async () => {
  const path = await test.makeCollection({ name: "given" });
  for (const kind of ["upsert", "update"]) {
    calls.splice(0);
    expect((await test.ask(`POST ${path}/${kind}`, { json: GIVEN })).status).toBe(200);
    expect(calls).toEqual(["writeAsGiven"]);
  }
});

it("sends what is read in a turn of its own in one call as well, and what is much more only once", async () => {
  const path = await test.makeCollection({ name: "longer" });
  for (const [records, expected] of [
    [20, ["writeAsGiven"]],
    [90, ["getCollection", "write"]],
  ] as const) {
    calls.splice(0);
    const ids = Array.from({ length: records }, (_, i) => `${i}`);
    // Some 2,000 bytes each as text, and 800 packed.
    const embeddings = ids.map((_, i) => Array.from({ length: 200 }, (__, j) => 1 / (i + j + 1)));
    const { status } = await test.ask(`POST ${path}/upsert`, { json: { ids, embeddings } });
    expect([status, calls]).toEqual([200, expected]);
  }
});

it("looks at the schema first where more is to be made of records, and knows it from then on", async () => {
  const config = {
    bm25: true,
    source_key: "#document",
    embedding_function: { type: "known", name: "sheaf", config: { model: "sheaf/bm25" } },
  };
  const schema = { keys: { words: { sparse_vector: { sparse_vector_index: { enabled: true, config } } } } };
  const path = await test.makeCollection({ name: "words", schema });
  for (const expected of [["writeAsGiven", "getCollection"], ["writeAsGiven", "getCollection"], []]) {
    calls.splice(0);
    expect((await test.ask(`POST ${path}/upsert`, { json: GIVEN })).status).toBe(200);
    expect(calls.filter((name) => name !== "rememberModels")).toEqual([...expected, "write"]);
  }
  const json = { ids: ["a"], include: ["metadatas"] };
  const { body } = await test.ask(`POST ${path}/get`, { json });
  expect(body).toMatchObject({ metadatas: [{ words: { "#type": "sparse_vector" } }] });
});

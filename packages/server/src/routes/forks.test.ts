/** Forks over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

describe("forking", () => {
  it("makes a collection of its own with the same records, and is counted", async () => {
    const path = await test.makeCollection({ name: "origin", metadata: { kind: "test" } });
    const records = { ids: ["a"], embeddings: [[1, 2]], documents: ["text"] };
    await test.ask(`POST ${path}/add`, { json: records });
    const { body: source } = await test.ask(`GET ${COLLECTIONS}/origin`);
    const { status, body } = await test.ask(`POST ${path}/fork`, { json: { new_name: "branch" } });
    expect(status).toBe(200);
    const { id } = body as { id: string };
    expect(body).toEqual({ ...(source as object), id, name: "branch", version: 0, log_position: 1 });
    await test.ask(`POST ${path}/delete`, { json: { ids: ["a"] } });
    const got = await test.ask(`POST ${COLLECTIONS}/${id}/get`, { json: {} });
    expect(got.body).toMatchObject({ ids: ["a"], documents: ["text"] });
    for (const member of [path, `${COLLECTIONS}/${id}`]) {
      expect((await test.ask(`GET ${member}/fork_count`)).body).toEqual({ count: 1 });
    }
  });

  it.each([
    [{ new_name: "taken" }, 409, "ChromaError"],
    [{ new_name: "x" }, 400, "InvalidArgumentError"],
    [{}, 422, "ChromaError"],
  ])("with %j is %i", async (json, status, error) => {
    const path = await test.makeCollection({ name: "taken", get_or_create: true });
    expect(await test.ask(`POST ${path}/fork`, { json })).toMatchObject({ status, body: { error } });
  });

  it("of an unknown collection is 404", async () => {
    const json = { new_name: "branch-of-nothing" };
    expect((await test.ask(`POST ${COLLECTIONS}/${UNKNOWN_ID}/fork`, { json })).status).toBe(404);
    expect((await test.ask(`GET ${COLLECTIONS}/${UNKNOWN_ID}/fork_count`)).status).toBe(404);
  });
});

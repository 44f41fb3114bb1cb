/** Writes after each change that another request made of their collection. */
import type { Engine } from "@sheaf/engine";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MINILM, type TestApp, startTestApp } from "../testing/test-app.ts";
import { intercept } from "../request/intercept.ts";
import { CollectionPlans } from "./collection-plans.ts";

const AT = { tenant: "default_tenant", database: "default_database" };
const FORMER = { identifier: MINILM, revision: "former", digest: `sha256:${"0".repeat(64)}` };

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

async function make(name: string): Promise<{ path: string; id: string }> {
  const path = await test.makeCollection({ name });
  return { path, id: path.slice(path.lastIndexOf("/") + 1) };
}

it("asks once for many writes, and again after a change, whose outcome may be unknown", async () => {
  let asked = 0;
  const plans: CollectionPlans = new CollectionPlans(() => engine);
  const engine: Engine = plans.watch(
    intercept(test.engine, (name, method) => (...args) => {
      if (name === "getCollection") asked++;
      return method(...args);
    }),
  );
  const { path, id } = await make("asked");
  const ref = { ...AT, id };
  expect((await plans.of(ref)).dimension).toBe(null);
  await test.ask(`POST ${path}/add`, { json: { ids: ["a"], embeddings: [[1, 2]] } });
  expect((await plans.of(ref)).dimension).toBe(2);
  asked = 1;
  for (let write = 0; write < 3; write++) expect((await plans.of(ref)).name).toBe("asked");
  expect(asked).toBe(1);
  await engine.updateCollection(ref, { name: "renamed" });
  expect((await plans.of(ref)).name).toBe("renamed");
  expect(asked).toBe(2);
  await make("taken");
  await expect(engine.updateCollection(ref, { name: "taken" })).rejects.toThrow();
  await plans.of(ref);
  expect(asked).toBe(3);
  // Neither another collection that changes nor a new tenant has it forgotten.
  await expect(engine.updateCollection({ ...ref, id: "nothing" }, { name: "x" })).rejects.toThrow();
  await engine.createTenant("beside");
  await plans.of(ref);
  expect(asked).toBe(3);
  // What was asked for before a change is not kept after it.
  const [before] = await Promise.all([plans.of({ ...ref }), engine.rememberModels(ref, [FORMER])]);
  expect(before.name).toBe("renamed");
  expect(Object.keys((await plans.of(ref)).models)).toEqual([MINILM]);
  await engine.deleteCollection({ ...AT, name: "renamed" });
  await expect(plans.of(ref)).rejects.toMatchObject({ status: 404 });
});

it("lets no write into a collection that is gone, or that other weights were accepted for", async () => {
  const { path } = await make("gone");
  const json = { ids: ["a"], embeddings: [[1, 2]] };
  expect((await test.ask(`POST ${path}/upsert`, { json })).status).toBe(200);
  expect((await test.ask(`DELETE ${path.slice(0, path.lastIndexOf("/"))}/gone`)).status).toBe(200);
  expect((await test.ask(`POST ${path}/upsert`, { json })).status).toBe(404);
});

it("keeps no more than a bound of bytes", async () => {
  let asked = 0;
  const engine = intercept(test.engine, (name, method) => (...args) => {
    if (name === "getCollection") asked++;
    return method(...args);
  });
  const plans = new CollectionPlans(() => engine, false, 300_000);
  const refs = await Promise.all(
    ["large-1", "large-2"].map(async (name) => {
      const path = await test.makeCollection({ name, metadata: { text: name.padEnd(200_000) } });
      await test.ask(`POST ${path}/add`, { json: { ids: ["a"], embeddings: [[1, 2]] } });
      return { ...AT, id: path.slice(path.lastIndexOf("/") + 1) };
    }),
  );
  const [one, other] = refs as [(typeof refs)[0], (typeof refs)[0]];
  for (const ref of [one, one, other, other, one]) expect((await plans.of(ref)).id).toBe(ref.id);
  expect(asked).toBe(3);
});

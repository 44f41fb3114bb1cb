/** `@sheaf/client` covers the interface: each route has a method that calls it, and each method calls a route. */
import { Collection, type Pages, SheafClient } from "@sheaf/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, startTestApp } from "../../packages/server/src/testing/test-app.ts";

/** Without a method: what `isReady` answers too, pages for people and machines, and what the command `sheaf nodes` is for. */
const LEFT_OUT = new Set([
  "GET /api/v2/nodes",
  ...["GET /livez", "GET /api/v2", "GET /api/v2/healthcheck", "GET /", "POST /"],
  ...["GET /openapi.json", "GET /embed/openapi.json"],
]);

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

const sent = new Set<string>();
const called = new Set<string>();
/** What is read of the answers to all routes. */
const ANSWER = {
  ...{ id: "00000000-0000-4000-8000-000000000001", name: "n", tenant: "t", database: "d", ids: [] },
  ...{ limits: {}, accepted: [], embeddings: [], max_batch_size: 100, created_at: "2030-01-01T00:00:00Z" },
  ...{ traces: [[]], plans: [{}], described: [], intervals: [] },
};
const client = new SheafClient({
  url: "http://127.0.0.1:1",
  fetch: (url, init) => {
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    sent.add(`${init?.method} ${pathname}`);
    const isList =
      init?.method === "GET" && /\/(?:tenants|databases|collections|keys|backups|models)$/u.test(pathname);
    return Promise.resolve(Response.json(isList ? [] : ANSWER));
  },
});

/** Calls are counted by name. */
function counted<T extends object>(object: T): T {
  return new Proxy(object, {
    get: (_, name) => {
      const member: unknown = Reflect.get(object, name, object);
      called.add(String(name));
      return typeof member === "function" ? (member.bind(object) as unknown) : member;
    },
  });
}

async function drain(pages: Pages<unknown>): Promise<void> {
  for await (const _ of pages.pages()) expect.unreachable();
}

async function callClient(): Promise<void> {
  const of = counted(client);
  const [name, id] = [{ name: "n" }, { id: "i" }];
  await Promise.all([of.heartbeat(), of.isReady(), of.version(), of.preFlightChecks(), of.identity()]);
  await Promise.all([of.metrics(), of.reset(), of.request({ method: "GET", path: "/readyz" })]);
  await Promise.all([of.createTenant(name), of.getTenant(name), of.listTenants(), drain(of.tenants())]);
  await Promise.all([of.updateTenant({ ...name, resourceName: "r" }), of.deleteTenant(name)]);
  await Promise.all([of.createDatabase(name), of.getDatabase(name), of.listDatabases()]);
  await Promise.all([drain(of.databases()), of.deleteDatabase(name), of.scoped({}).version()]);
  await Promise.all([of.createCollection(name), of.getCollection(name), of.getCollectionById(id)]);
  await of.getCollectionByResource({ tenant: "r", database: "d", ...name });
  await Promise.all([of.listCollections(), drain(of.collections()), of.countCollections()]);
  await of.deleteCollection(name);
  await Promise.all([of.createKey({ ...name, tenant: null, scopes: [] }), of.listKeys(), drain(of.keys())]);
  await Promise.all([of.rotateKey(id), of.revokeKey(id), of.currentKey()]);
  await Promise.all([of.usage(), of.listModels(), of.pullModel({ model: "m" }), of.metricsHistory()]);
  await Promise.all([of.createBackup(name), of.getBackup(name), of.listBackups(), of.cancelBackup(name)]);
  await Promise.all([of.embed({ model: "m", texts: [] }), of.embedSparse({ model: "m", texts: [] })]);
}

async function callCollection(): Promise<void> {
  const of = counted(await client.getCollection({ name: "n" }));
  const records = [{ id: "a" }];
  await Promise.all([of.refresh(), of.modify({}), of.fork({ name: "f" }), of.forkCount()]);
  await Promise.all([of.indexingStatus(), of.acceptModel(), of.count(), of.delete({})]);
  await Promise.all([of.count({ ids: [] }), of.facets({ keys: [] })]);
  await Promise.all([of.add({ records }), of.upsert({ records }), of.update({ records })]);
  await Promise.all([of.get(), drain(of.records()), of.query({ embeddings: [] })]);
  await Promise.all([of.search({}), of.explainSearch({}), of.searchAll({ searches: [] })]);
  await of.check({ searches: [] });
  await Promise.all([of.conditionalGet(), of.conditionalCommit({ operations: [] })]);
}

const methodsOf = (prototype: object): readonly string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => typeof value === "function" && name !== "constructor")
    .map(([name]) => name);

describe("@sheaf/client", () => {
  it("has a method for every route of the interface, and no other", async () => {
    await callClient();
    await callCollection();
    const methods = [...methodsOf(SheafClient.prototype), ...methodsOf(Collection.prototype)];
    expect(methods.filter((method) => !called.has(method))).toEqual([]);
    const patterns = test.app.routes
      .filter(({ description, path }) => description !== undefined && !path.startsWith("/api/v1"))
      .map(({ method, path }) => ({
        route: `${method} ${path}`,
        pattern: new RegExp(`^${method} ${path.replaceAll(/:\w+/gu, "[^/]+")}$`, "u"),
      }))
      .filter(({ route }) => !LEFT_OUT.has(route) && !route.includes("functions"));
    expect(patterns.length).toBeGreaterThan(40);
    const missing = patterns.filter(({ pattern }) => ![...sent].some((request) => pattern.test(request)));
    expect(missing.map(({ route }) => route)).toEqual([]);
    expect([...sent].filter((request) => !patterns.some(({ pattern }) => pattern.test(request)))).toEqual([]);
  });
});

/** Tenants, databases and collections over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COLLECTIONS, DATABASE, type TestApp, startTestApp } from "../testing/test-app.ts";

const TENANTS = "/api/v2/tenants";
const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

describe("tenants", () => {
  it("are made, read, changed, listed and removed with all they hold", async () => {
    expect(await test.ask(`POST ${TENANTS}`, { json: { name: "acme" } })).toMatchObject({
      status: 200,
      body: {},
    });
    expect((await test.ask(`GET ${TENANTS}/acme`)).body).toEqual({ name: "acme", resource_name: null });
    const patched = await test.ask(`PATCH ${TENANTS}/acme`, { json: { resource_name: "acme-eu" } });
    expect(patched).toMatchObject({ status: 200, body: {} });
    expect((await test.ask(`GET ${TENANTS}/acme`)).body).toEqual({ name: "acme", resource_name: "acme-eu" });
    const names = (await test.ask(`GET ${TENANTS}`)).body as { name: string }[];
    expect(names.map(({ name }) => name).sort()).toEqual(["acme", "default_tenant"]);
    await test.ask(`POST ${TENANTS}/acme/databases`, { json: { name: "prod" } });
    expect(await test.ask(`DELETE ${TENANTS}/acme`)).toMatchObject({ status: 200, body: {} });
    expect((await test.ask(`GET ${TENANTS}/acme`)).status).toBe(404);
    expect((await test.ask(`GET ${TENANTS}/acme/databases/prod`)).status).toBe(404);
  });

  it.each([
    ["POST", "", { name: "ab" }, 400, "InvalidArgumentError"],
    ["POST", "", { name: "x".repeat(129) }, 400, "InvalidArgumentError"],
    ["POST", "", { name: 7 }, 422, "ChromaError"],
    ["POST", "", {}, 422, "ChromaError"],
    ["POST", "", { name: "default_tenant" }, 409, "ChromaError"],
    ["GET", "/nobody", undefined, 404, "NotFoundError"],
    ["GET", `/${"x".repeat(600)}`, undefined, 404, "NotFoundError"],
    ["PATCH", "/nobody", { resource_name: "r" }, 404, "NotFoundError"],
    ["DELETE", "/nobody", undefined, 404, "NotFoundError"],
  ])("%s %s %j is %i", async (method, path, json, ...[status, error]) => {
    const reply = await test.ask(`${method} ${TENANTS}${path}`, json === undefined ? {} : { json });
    expect(reply).toMatchObject({ status, body: { error, message: expect.any(String) } });
  });

  it("keep the default tenant and database, unless reset is allowed", async () => {
    const careful = await startTestApp({ allowReset: false });
    const database = `${TENANTS}/default_tenant/databases/default_database`;
    for (const path of [`${TENANTS}/default_tenant`, database]) {
      const reply = await careful.ask(`DELETE ${path}`);
      expect(reply).toMatchObject({ status: 409, body: { error: "ChromaError" } });
      expect(reply.body).toMatchObject({ message: expect.stringContaining("cannot be deleted") });
      expect((await careful.ask(`GET ${path}`)).status).toBe(200);
    }
    await careful.ask(`POST ${TENANTS}/default_tenant/databases`, { json: { name: "another" } });
    expect((await careful.ask(`DELETE ${TENANTS}/default_tenant/databases/another`)).status).toBe(200);
    await careful.close();
    const free = await startTestApp({ allowReset: true });
    expect((await free.ask(`DELETE ${database}`)).status).toBe(200);
    expect((await free.ask(`DELETE ${TENANTS}/default_tenant`)).status).toBe(200);
    await free.close();
  });

  it("may have any name that is not a path", async () => {
    const name = "a/b ../ü?#%";
    expect((await test.ask(`POST ${TENANTS}`, { json: { name } })).status).toBe(200);
    const path = `${TENANTS}/${encodeURIComponent(name)}`;
    expect((await test.ask(`GET ${path}`)).body).toEqual({ name, resource_name: null });
    await test.ask(`DELETE ${path}`);
  });
});

describe("pages of a list", () => {
  it("go on where the one before ended, whatever was removed or made meanwhile", async () => {
    const tenant = `${TENANTS}/paged`;
    await test.ask(`POST ${TENANTS}`, { json: { name: "paged" } });
    const made = ["aaa", "bbb", "ccc", "ddd", "eee"];
    for (const name of made) await test.ask(`POST ${tenant}/databases`, { json: { name } });
    const seen: string[] = [];
    for (let after = ""; ;) {
      const { body, headers } = await test.ask(`GET ${tenant}/databases?limit=2${after}`);
      for (const { name } of body as { name: string }[]) {
        seen.push(name);
        await test.ask(`DELETE ${tenant}/databases/${name}`);
      }
      await test.ask(`POST ${tenant}/databases`, { json: { name: `a-${seen.length}` } });
      const next = headers["x-sheaf-next"];
      if (next === undefined) break;
      after = `&after=${next as string}`;
    }
    expect(seen).toEqual(made);
    await test.ask(`DELETE ${tenant}`);
  });

  it.each([
    ["a place in another list", "0000", "after: is of another list"],
    ["no place", "x", "after: must be what the header x-sheaf-next of the page before says"],
  ])("begin behind %s: 400", async (_what, after, message) => {
    for (const list of [TENANTS, `${TENANTS}/default_tenant/databases`, COLLECTIONS, "/api/v2/keys"])
      expect(await test.ask(`GET ${list}?after=${after}`)).toMatchObject({ status: 400, body: { message } });
  });

  it("are counted in strict mode, as Chroma does", async () => {
    const headers = { "x-sheaf-strict": "1" };
    const first = await test.ask(`GET ${TENANTS}?limit=1`, { headers });
    expect(first.headers).not.toHaveProperty("x-sheaf-next");
    const { headers: said } = await test.ask(`GET ${TENANTS}?limit=1`);
    const next = await test.ask(`GET ${TENANTS}?after=${said["x-sheaf-next"] as string}`, { headers });
    const message =
      "after: ?after is an extension of Sheaf, which strict mode refuses (--strict, x-sheaf-strict)";
    expect(next).toMatchObject({ status: 400, body: { message } });
  });
});

describe("databases", () => {
  const databases = `${TENANTS}/default_tenant/databases`;

  it("are made, read, listed by name and removed", async () => {
    for (const name of ["zeta", "alpha"]) {
      expect(await test.ask(`POST ${databases}`, { json: { name } })).toMatchObject({
        status: 200,
        body: {},
      });
    }
    expect((await test.ask(`GET ${databases}/zeta`)).body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "zeta",
      tenant: "default_tenant",
    });
    const names = async (query = ""): Promise<string[]> =>
      ((await test.ask(`GET ${databases}${query}`)).body as { name: string }[]).map(({ name }) => name);
    expect(await names()).toEqual(["alpha", "default_database", "zeta"]);
    expect(await names("?limit=1&offset=1")).toEqual(["default_database"]);
    expect(await test.ask(`DELETE ${databases}/zeta`)).toMatchObject({ status: 200, body: {} });
    expect((await test.ask(`GET ${databases}/zeta`)).status).toBe(404);
    await test.ask(`DELETE ${databases}/alpha`);
  });

  it.each([
    [`POST ${databases}`, { name: "ab" }, 400],
    [`POST ${databases}`, { name: "default_database" }, 409],
    [`POST ${TENANTS}/nobody/databases`, { name: "prod" }, 404],
    [`GET ${databases}/nothing`, undefined, 404],
    [`GET ${databases}/ab`, undefined, 400],
    [`GET ${databases}?limit=x`, undefined, 400],
    [`DELETE ${databases}/nothing`, undefined, 404],
  ])("%s %j is %i", async (request, json, status) => {
    expect((await test.ask(request, json === undefined ? {} : { json })).status).toBe(status);
  });
});

describe("collections", () => {
  it("are made, found by name and by id, changed, counted, listed and removed", async () => {
    const made = await test.ask(`POST ${COLLECTIONS}`, {
      json: { name: "papers", metadata: { a: 1, b: 2.0 } },
    });
    expect(made.status).toBe(200);
    const collection = made.body as { id: string };
    expect(made.body).toMatchObject({
      name: "papers",
      tenant: "default_tenant",
      database: "default_database",
      dimension: null,
      log_position: 0,
      version: 0,
    });
    expect((await test.ask(`GET ${COLLECTIONS}/papers`)).body).toEqual(made.body);
    expect((await test.ask(`GET ${COLLECTIONS}/by-id/${collection.id}`)).body).toEqual(made.body);
    const change = { new_name: "articles", new_metadata: { c: "d" } };
    expect(await test.ask(`PUT ${COLLECTIONS}/${collection.id}`, { json: change })).toMatchObject({
      status: 200,
      body: {},
    });
    expect((await test.ask(`GET ${COLLECTIONS}/articles`)).body).toMatchObject({ metadata: { c: "d" } });
    expect((await test.ask(`GET ${DATABASE}/collections_count`)).text).toBe("1");
    expect((await test.ask(`GET ${COLLECTIONS}?limit=5&offset=0`)).body).toMatchObject([
      { name: "articles" },
    ]);
    expect((await test.ask(`GET ${COLLECTIONS}?offset=1`)).body).toEqual([]);
    expect(await test.ask(`DELETE ${COLLECTIONS}/articles`)).toMatchObject({ status: 200, body: {} });
    expect((await test.ask(`GET ${COLLECTIONS}/articles`)).status).toBe(404);
  });

  it("are named to whoever sends an id where a route takes a name", async () => {
    const path = await test.makeCollection({ name: "by-another-name" });
    const id = path.slice(path.lastIndexOf("/") + 1);
    const instead = {
      GET: `GET .../collections/by-id/${id} takes an id`,
      DELETE: "send DELETE .../collections/by-another-name",
    };
    for (const [method, hint] of Object.entries(instead)) {
      const reply = await test.ask(`${method} ${COLLECTIONS}/${id.toUpperCase()}`);
      const message = `Collection [${id.toUpperCase()}] does not exist: this is the id of the collection [by-another-name], and this route takes a name; ${hint}`;
      expect(reply).toMatchObject({ status: 404, body: { error: "NotFoundError", message } });
    }
    const absent = await test.ask(`GET ${COLLECTIONS}/${UNKNOWN_ID}`);
    expect(absent.body).toMatchObject({ message: `Collection [${UNKNOWN_ID}] does not exist` });
    const databases = `${TENANTS}/default_tenant/databases`;
    await test.ask(`POST ${databases}`, { json: { name: "elsewhere" } });
    const elsewhere = await test.ask(`GET ${databases}/elsewhere/collections/${id}`);
    expect(elsewhere.body).toMatchObject({ message: `Collection [${id}] does not exist` });
    // A name that looks like an id is a name.
    await test.makeCollection({ name: UNKNOWN_ID });
    expect((await test.ask(`DELETE ${COLLECTIONS}/${UNKNOWN_ID}`)).status).toBe(200);
  });

  it("are returned as they are by get_or_create", async () => {
    await test.ask(`POST ${COLLECTIONS}`, { json: { name: "again", metadata: { a: 1 } } });
    const again = { name: "again", metadata: { b: 2 }, get_or_create: true };
    expect((await test.ask(`POST ${COLLECTIONS}`, { json: again })).body).toMatchObject({
      metadata: { a: 1 },
    });
    expect((await test.ask(`POST ${COLLECTIONS}`, { json: { name: "again" } })).status).toBe(409);
  });

  it("lose the metadata keys that an update sets to null", async () => {
    const path = await test.makeCollection({ name: "described", metadata: { a: 1 } });
    const shown = async () => (await test.ask(`GET ${COLLECTIONS}/described`)).body;
    expect(await test.ask(`PUT ${path}`, { json: { new_metadata: { a: null, b: 2 } } })).toMatchObject({
      status: 200,
    });
    expect(await shown()).toMatchObject({ metadata: { b: 2 } });
    await test.ask(`PUT ${path}`, { json: { new_metadata: { b: null } } });
    expect(await shown()).toMatchObject({ metadata: null });
  });

  it("say how far their index is", async () => {
    const path = await test.makeCollection({ name: "indexed" });
    expect(await test.ask(`GET ${path}/indexing_status`)).toMatchObject({
      status: 200,
      text: expect.stringContaining('"op_indexing_progress":1.0,'),
      body: { op_indexing_progress: 1, num_unindexed_ops: 0, num_indexed_ops: 0, total_ops: 0 },
    });
  });

  it.each([
    [`GET ${COLLECTIONS}/nothing`, undefined, 404],
    [`DELETE ${COLLECTIONS}/nothing`, undefined, 404],
    [`GET ${COLLECTIONS}/by-id/${UNKNOWN_ID}`, undefined, 404],
    [`GET ${COLLECTIONS}/by-id/nothing`, undefined, 400],
    [`PUT ${COLLECTIONS}/${UNKNOWN_ID}`, {}, 404],
    [`PUT ${COLLECTIONS}/nothing`, {}, 400],
    [`GET ${COLLECTIONS}/${UNKNOWN_ID}/indexing_status`, undefined, 404],
    [`POST ${COLLECTIONS}`, { name: "x" }, 400],
    [`POST ${COLLECTIONS}`, { name: "ok-name", metadata: {} }, 400],
    [`GET ${COLLECTIONS}?limit=-1`, undefined, 400],
  ])("%s %j is %i", async (request, json, status) => {
    expect((await test.ask(request, json === undefined ? {} : { json })).status).toBe(status);
  });
});

describe("a path that there is not", () => {
  const database = "/api/v2/tenants/{tenant}/databases/{database}";
  it.each([
    ["/api/v2/collections", `it lies under ${database}/collections`],
    ["/api/v2/collections/by-id/x", `it lies under ${database}/collections/by-id/{collection}`],
    ["/databases/x", `it lies under ${database}`],
    [
      "/v1/embeddings",
      "texts are embedded by POST /embed, described at /embed/openapi.json; there is no OpenAI route",
    ],
    ["/healthz", "GET /livez says whether the server runs, GET /readyz whether it can answer requests"],
    ["/api/v2/nothing", "GET /docs lists all"],
    ["/api/v2/", "GET /docs lists all"],
  ])("%s is told where what it names lies, if anywhere", async (path, hint) => {
    const reply = await test.ask(`GET ${path}`);
    expect(reply).toMatchObject({
      status: 404,
      body: { error: "NotFoundError", message: `no such path; ${hint}` },
    });
  });
});

describe("what is not served", () => {
  it.each([
    [`POST ${COLLECTIONS}/${UNKNOWN_ID}/functions/attach`, "ChromaError"],
    [`GET ${COLLECTIONS}/${UNKNOWN_ID}/functions/f`, "ChromaError"],
    [`POST ${COLLECTIONS}/${UNKNOWN_ID}/attached_functions/f/add_input`, "ChromaError"],
    [`POST ${COLLECTIONS}/${UNKNOWN_ID}/attached_functions/f/detach`, "ChromaError"],
  ])("%s is 501 %s", async (request, error) => {
    expect(await test.ask(request, { json: {} })).toMatchObject({ status: 501, body: { error } });
  });
});

/**
 * What becomes of a request that is admitted and whose key, tenant, database or collection is gone before its body is
 * whole, or before its texts are embedded: it is refused and changes nothing, even where others have the same name by then.
 */
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, type TestApp, startTestApp } from "../testing/test-app.ts";
import { RawClient } from "../testing/raw-client.ts";

const EVERY_SCOPE = ["embed", "read", "write", "admin"];
/** Long enough for the server to have admitted a request whose headers are sent. */
const EXPIRES_AFTER_MS = 400;

interface Made {
  readonly id: string;
  readonly key: string;
}

let test: TestApp;
let port: number;
const clients: RawClient[] = [];

beforeAll(async () => {
  test = await startTestApp();
  await test.app.http.listen({ host: "127.0.0.1", port: 0 });
  ({ port } = test.app.http.server.address() as AddressInfo);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => test.close());

async function done(request: string, json?: unknown, key = ROOT_KEY): Promise<unknown> {
  const { status, body, text } = await test.ask(request, json === undefined ? { key } : { json, key });
  if (status >= 300) throw new Error(`${request}: ${status} ${text}`);
  return body;
}

async function makeKey(fields: object): Promise<Made> {
  return (await done("POST /api/v2/keys", { name: "k", scopes: EVERY_SCOPE, ...fields })) as Made;
}

async function makePlace(tenant: string): Promise<string> {
  await done("POST /api/v2/tenants", { name: tenant });
  await done(`POST /api/v2/tenants/${tenant}/databases`, { name: "main" });
  return `/api/v2/tenants/${tenant}/databases/main`;
}

async function makeCollection(place: string, fields: object = {}): Promise<string> {
  return ((await done(`POST ${place}/collections`, { name: "notes", ...fields })) as Made).id;
}

interface SlowRequest {
  readonly client: RawClient;
  /** Sends what the body lacks and gives the answer's status. */
  finish(): Promise<number>;
}

/** A request that is admitted, with all of its body but the last byte. */
async function begin(request: string, json: unknown, key: string): Promise<SlowRequest> {
  const body = JSON.stringify(json);
  const client = await RawClient.open(port);
  clients.push(client);
  const head = ["Host: a", `x-service-token: ${key}`, "content-type: application/json"];
  // Told to go on, it is known to be admitted.
  head.push(`content-length: ${Buffer.byteLength(body)}`, "expect: 100-continue");
  expect(await client.ask(`${request} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n`)).toEqual([100]);
  client.write(body.slice(0, -1));
  return {
    client,
    finish: async () => {
      if (client.statuses.length === 1) client.write(body.slice(-1));
      await client.until(({ statuses }) => statuses.length > 1);
      return client.statuses[1] as number;
    },
  };
}

describe("a request whose key ends before its body is whole", () => {
  const backdoor = { name: "backdoor", tenant: null, scopes: EVERY_SCOPE };
  const backdoors = async (): Promise<number> =>
    ((await done("GET /api/v2/keys")) as { name: string }[]).filter(({ name }) => name === "backdoor").length;

  it.each<[string, (key: Made) => Promise<unknown>]>([
    ["removed", ({ id }) => done(`DELETE /api/v2/keys/${id}`)],
    ["removed by itself", ({ id, key }) => done(`DELETE /api/v2/keys/${id}`, undefined, key)],
    ["rotated without overlap", ({ id }) => done(`POST /api/v2/keys/${id}/rotate`, { overlap_seconds: 0 })],
  ])("is 401 and makes no key, at once where the key is %s", async (_how, end) => {
    const operator = await makeKey({ tenant: null });
    const before = await backdoors();
    const slow = await begin("POST /api/v2/keys", backdoor, operator.key);
    await end(operator);
    // Its body is waited for no more.
    await slow.client.until(({ statuses }) => statuses.length > 1);
    expect(await slow.finish()).toBe(401);
    expect(await backdoors()).toBe(before);
  });

  it("is 401 where the key expires", async () => {
    const expires = new Date(Date.now() + EXPIRES_AFTER_MS).toISOString();
    const operator = await makeKey({ tenant: null, expires_at: expires });
    const slow = await begin("POST /api/v2/keys", backdoor, operator.key);
    await slow.client.until(({ statuses }) => statuses.length > 1);
    expect(await slow.finish()).toBe(401);
    expect(await backdoors()).toBe(0);
  });

  it("is 401 where a rotation has the key expire, and not before", async () => {
    const operator = await makeKey({ tenant: null });
    const other = await makeKey({ tenant: null });
    const slow = await begin("POST /api/v2/keys", backdoor, operator.key);
    const untouched = await begin("POST /api/v2/keys", { ...backdoor, name: "wanted" }, other.key);
    const inTime = await begin("POST /api/v2/keys", { ...backdoor, name: "wanted" }, operator.key);
    await done(`POST /api/v2/keys/${operator.id}/rotate`, { overlap_seconds: 1 });
    expect(await inTime.finish()).toBe(200);
    await slow.client.until(({ statuses }) => statuses.length > 1);
    expect([await slow.finish(), await untouched.finish()]).toEqual([401, 200]);
    expect(await backdoors()).toBe(0);
  });

  it("is 401 where everything is reset, and the key that resets is told so", async () => {
    const operator = await makeKey({ tenant: null });
    const slow = await begin("POST /api/v2/keys", backdoor, operator.key);
    await done("POST /api/v2/reset", undefined, operator.key);
    expect(await slow.finish()).toBe(401);
    expect(await backdoors()).toBe(0);
  });

  it("answers a key that rotates itself with the new key", async () => {
    const operator = await makeKey({ tenant: null });
    const path = `/api/v2/keys/${operator.id}/rotate`;
    const next = (await done(`POST ${path}`, { overlap_seconds: 0 }, operator.key)) as Made;
    expect((await test.ask("GET /api/v2/keys", { key: operator.key })).status).toBe(401);
    expect((await test.ask("GET /api/v2/keys", { key: next.key })).status).toBe(200);
  });
});

describe("a request for what is removed, and made again under the same name, before its body is whole", () => {
  it("never reaches the tenant of now, with the key of then or the root key", async () => {
    const place = await makePlace("phoenix");
    const bound = await makeKey({ tenant: "phoenix" });
    const planted = { name: "notes", get_or_create: true, metadata: { planted: true } };
    const ofThen = await begin(`POST ${place}/collections`, planted, bound.key);
    const ofRoot = await begin(`POST ${place}/collections`, planted, ROOT_KEY);
    const database = await begin("POST /api/v2/tenants/phoenix/databases", { name: "planted" }, ROOT_KEY);
    await done("DELETE /api/v2/tenants/phoenix");
    await makePlace("phoenix");
    await makeCollection(place, { metadata: { secret: true } });
    expect([await ofThen.finish(), await ofRoot.finish(), await database.finish()]).toEqual([401, 404, 404]);
    expect(ofThen.client.received).not.toContain("secret");
    const [notes, ...others] = (await done(`GET ${place}/collections`)) as { metadata: unknown }[];
    expect([notes?.metadata, others]).toEqual([{ secret: true }, []]);
    expect(await done("GET /api/v2/tenants/phoenix/databases")).toHaveLength(1);
  });

  it("never reaches it where it is made while the removal is under way", async () => {
    const place = await makePlace("quick");
    const slow = await begin(`POST ${place}/collections`, { name: "planted" }, ROOT_KEY);
    const [, made] = await Promise.all([
      test.ask("DELETE /api/v2/tenants/quick"),
      test.ask("POST /api/v2/tenants", { json: { name: "quick" } }),
    ]);
    if (made.status !== 200) await done("POST /api/v2/tenants", { name: "quick" });
    await done("POST /api/v2/tenants/quick/databases", { name: "main" });
    expect(await slow.finish()).toBe(404);
    expect(await done(`GET ${place}/collections`)).toEqual([]);
  });

  it("never reaches the database of now", async () => {
    const place = await makePlace("dbs");
    const [ofTenant, ofDatabase] = [
      await makeKey({ tenant: "dbs" }),
      await makeKey({ tenant: "dbs", database: "main" }),
    ];
    const planted = { name: "planted" };
    const tenants = await begin(`POST ${place}/collections`, planted, ofTenant.key);
    const bound = await begin(`POST ${place}/collections`, planted, ofDatabase.key);
    await done(`DELETE ${place}`);
    await done("POST /api/v2/tenants/dbs/databases", { name: "main" });
    expect([await tenants.finish(), await bound.finish()]).toEqual([404, 401]);
    expect(await done(`GET ${place}/collections`)).toEqual([]);
  });

  it("never reaches the collection of now, by id or by name", async () => {
    const place = await makePlace("cols");
    const id = await makeCollection(place);
    const records = { ids: ["a"], embeddings: [[1, 2]] };
    const write = await begin(`POST ${place}/collections/${id}/upsert`, records, ROOT_KEY);
    const change = await begin(`PUT ${place}/collections/${id}`, { new_name: "other" }, ROOT_KEY);
    const fork = await begin(`POST ${place}/collections/${id}/fork`, { new_name: "copy" }, ROOT_KEY);
    // A removal by name does not wait for the body that it has no use for.
    const removal = await RawClient.open(port);
    clients.push(removal);
    const head = `Host: a\r\nx-service-token: ${ROOT_KEY}\r\ncontent-length: 1000`;
    expect(await removal.ask(`DELETE ${place}/collections/notes HTTP/1.1\r\n${head}\r\n\r\n`)).toEqual([200]);
    const now = await makeCollection(place);
    removal.write(" ".repeat(1000));
    expect([await write.finish(), await change.finish(), await fork.finish()]).toEqual([404, 404, 404]);
    expect(await done(`GET ${place}/collections`)).toEqual([
      expect.objectContaining({ id: now, name: "notes" }),
    ]);
    expect(await done(`GET ${place}/collections/${now}/count`)).toBe(0);
  });
});

describe("a write whose texts are being embedded", () => {
  it("is 401 and stores nothing where its key is removed meanwhile", async () => {
    const place = await makePlace("texts");
    const embedding_function = { type: "known", name: "default", config: {} };
    const id = await makeCollection(place, { configuration: { embedding_function } });
    const { id: keyId, key } = await makeKey({ tenant: "texts" });
    const write = (count: number, name: string) => ({
      ids: Array.from({ length: count }, (_, i) => `${name}${i}`),
      documents: Array.from(
        { length: count },
        (_, i) => `${name} ${i} ${"a long text of many words ".repeat(30)}`,
      ),
    });
    const path = `POST ${place}/collections/${id}/add`;
    await done(path, write(1, "first"), key);
    const pending = test.ask(path, { key, json: write(300, "late") });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await done(`DELETE /api/v2/keys/${keyId}`);
    expect((await pending).status).toBe(401);
    expect(await done(`GET ${place}/collections/${id}/count`)).toBe(1);
  });
});

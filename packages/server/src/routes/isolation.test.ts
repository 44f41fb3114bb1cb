/**
 * What a key of one tenant learns of another's things: nothing. Every route is asked for what is the caller's own, for
 * what is another tenant's and for what is not there; the last two have to answer alike and ask the engine alike.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "@sheaf/engine";
import { createLocalEngine } from "@sheaf/engine/local";
import { createEmbedder } from "@sheaf/inference";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allRoutes } from "../app.ts";
import { Lifecycle } from "../lifecycle.ts";
import { intercept } from "../request/intercept.ts";
import { refuseEngine } from "../request/engine-source.ts";
import { type Answer, type TestApp, startTestApp } from "../testing/test-app.ts";

const ROUTES = allRoutes({
  engine: refuseEngine,
  embedder: createEmbedder(),
  keys: null,
  lifecycle: new Lifecycle(),
  allowReset: false,
})
  .filter(({ scope }) => scope !== "public")
  .map((route) => ({ ...route, name: `${route.method} ${route.path}` }));

/** Names and ids that a path may hold; they are cut out of answers before those are compared. */
interface Place {
  readonly tenant: string;
  readonly database: string;
  readonly collectionId: string;
  readonly collectionName: string;
}

const ABSENT: Place = {
  tenant: "nobody",
  database: "nothing",
  collectionId: "00000000-0000-4000-8000-000000000000",
  collectionName: "no-such-collection",
};
const FOREIGN_KEY_ID = "key_0000000000000000";
const EVERY_SCOPE = ["embed", "read", "write", "admin"];

let folder: string;
let engine: Engine;
let test: TestApp;
let own: Place;
let other: Place;
let keys: Readonly<Record<"own" | "noScope" | "expired", string>>;
let now = Date.parse("2030-01-01T00:00:00Z");
const calls: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-isolation-"));
  engine = await createLocalEngine({ dataFolder: folder });
  const recorded = intercept(engine, (name, method) => (...args) => {
    // Looking the caller's key up tells nothing of what it asks for.
    if (name !== "findKeys") calls.push(name);
    return method(...args);
  });
  test = await startTestApp({ engine: () => recorded, now: () => now });
  own = await makePlace("acme");
  other = await makePlace("umbrella");
  const make = async (fields: object): Promise<string> => {
    const json = { name: "k", tenant: "acme", ...fields };
    return ((await test.ask("POST /api/v2/keys", { json })).body as { key: string }).key;
  };
  keys = {
    own: await make({ scopes: EVERY_SCOPE }),
    noScope: await make({ scopes: ["embed"] }),
    expired: await make({ scopes: EVERY_SCOPE, expires_at: new Date(now + 1).toISOString() }),
  };
  now += 10;
});

afterAll(async () => {
  await test.close();
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

async function makePlace(tenant: string): Promise<Place> {
  const [database, collectionName] = [`${tenant}-db`, `${tenant}-things`];
  await test.ask("POST /api/v2/tenants", { json: { name: tenant } });
  await test.ask(`POST /api/v2/tenants/${tenant}/databases`, { json: { name: database } });
  const path = `/api/v2/tenants/${tenant}/databases/${database}/collections`;
  const made = await test.ask(`POST ${path}`, { json: { name: collectionName } });
  const { id } = made.body as { id: string };
  await test.ask(`POST ${path}/${id}/add`, { json: { ids: ["secret"], embeddings: [[1, 2]] } });
  return { tenant, database, collectionId: id, collectionName };
}

/** The path of a route at a place; GET and DELETE of a collection itself name it, everything else has its id. */
function url({ method, path }: { readonly method: string; readonly path: string }, place: Place): string {
  const named = path.endsWith("/collections/:collection") && (method === "GET" || method === "DELETE");
  return path
    .replace(":tenant", place.tenant)
    .replace(":database", place.database)
    .replace(":collection", named ? place.collectionName : place.collectionId)
    .replace(":function", "f")
    .replace(":key", FOREIGN_KEY_ID)
    .replace(":crn", `${place.tenant}:${place.database}:${place.collectionName}`);
}

/** Valid for the route that is asked, as far as one body can be: an absent thing must not hide behind a bad body. */
const BODY = {
  name: "new-thing",
  new_name: "new-name",
  ids: ["a"],
  embeddings: [[1, 2]],
  query_embeddings: [[1, 2]],
  searches: [{}],
  operations: [{ operation: "upsert", payload: { ids: ["a"], embeddings: [[1, 2]] } }],
  texts: [],
  instructions: "",
};

/** Of routes that refuse members that are meant for others, by the end of their paths. */
const STRICT_BODIES: Readonly<Record<string, object>> = { count: {}, facets: { keys: ["a"] } };

interface Outcome extends Pick<Answer, "status" | "text"> {
  readonly calls: readonly string[];
}

async function outcome(
  route: { readonly method: string; readonly path: string },
  place: Place,
  key: string | null,
): Promise<Outcome> {
  calls.length = 0;
  const body = STRICT_BODIES[route.path.split("/").at(-1) ?? ""] ?? BODY;
  const json = route.method === "GET" || route.method === "DELETE" ? undefined : body;
  const { status, text } = await test.ask(`${route.method} ${url(route, place)}`, {
    key,
    ...(json === undefined ? {} : { json }),
  });
  let anonymous = text;
  for (const name of Object.values(place)) anonymous = anonymous.replaceAll(name, "<name>");
  return { status, text: anonymous, calls: [...calls] };
}

describe("every route, to a key of one tenant", () => {
  it.each(ROUTES)("$name refuses no key, an expired one and one without the scope", async (route) => {
    for (const key of [null, keys.expired]) {
      expect(await outcome(route, own, key)).toMatchObject({ status: 401, calls: [] });
    }
    if (route.scope === "any" || route.scope === "embed") return;
    expect(await outcome(route, own, keys.noScope)).toMatchObject({ status: 403, calls: [] });
  });

  it.each(ROUTES.filter(({ tenant }) => tenant === "path"))(
    "$name answers another tenant's path and an absent one alike, and looks nothing up",
    async (route) => {
      const foreign = await outcome(route, other, keys.own);
      expect(foreign).toMatchObject({ status: 403, calls: [] });
      expect(await outcome(route, ABSENT, keys.own)).toEqual(foreign);
    },
  );

  it.each(ROUTES.filter(({ tenant, path }) => tenant === "path" && path.includes(":collection")))(
    "$name answers another's collection under its own path and an absent one alike, by the same calls",
    async (route) => {
      const { tenant, database } = own;
      const foreign = await outcome(route, { ...other, tenant, database }, keys.own);
      const absent = await outcome(route, { ...ABSENT, tenant, database }, keys.own);
      expect(foreign).toEqual(absent);
      expect([404, 501]).toContain(foreign.status);
    },
  );

  it.each(ROUTES.filter(({ tenant }) => tenant === "unbound"))(
    "$name is not for it at all",
    async (route) => {
      expect(await outcome(route, own, keys.own)).toMatchObject({ status: 403, calls: [] });
    },
  );

  it.each(ROUTES.filter(({ path }) => path.includes(":crn")))(
    "$name answers another tenant's name and an absent one alike",
    async (route) => {
      const foreign = await outcome(route, other, keys.own);
      expect(await outcome(route, ABSENT, keys.own)).toEqual(foreign);
      expect(foreign.status).toBeGreaterThanOrEqual(400);
    },
  );

  it("and its own things answer, after all that and before", async () => {
    const path = `/api/v2/tenants/${own.tenant}/databases/${own.database}/collections`;
    const reads = [
      `GET /api/v2/tenants/${own.tenant}`,
      `GET ${path}`,
      `GET ${path}/${own.collectionName}`,
      `GET ${path}/${own.collectionId}/count`,
    ];
    for (const read of reads) expect((await test.ask(read, { key: keys.own })).status).toBe(200);
  });

  it.each(ROUTES.filter(({ tenant }) => tenant === "path"))(
    "$name lets it go on to its own",
    async (route) => {
      const { status } = await outcome(route, own, keys.own);
      expect([401, 403]).not.toContain(status);
    },
  );

  it("and nothing of the other tenant has changed", async () => {
    const path = `/api/v2/tenants/${other.tenant}/databases/${other.database}/collections`;
    expect((await test.ask(`GET ${path}/${other.collectionId}/count`)).text).toBe("1");
  });
});

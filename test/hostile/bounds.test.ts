/** What a tenant may keep and what a reply may hold, approached by many writers at once and to the byte. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DataFolder } from "../../packages/engine/src/storage/folder/data-folder.ts";
import { createDiskSpace } from "../../packages/engine/src/storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../../packages/engine/src/storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../../packages/engine/src/storage/lmdb/own-environment.ts";
import { Stage } from "./testing/stage.ts";
import { type Tenant, createTenant } from "./testing/tenant.ts";

const MIB = 1024 * 1024;
const WITHIN_MIB = 1_500;
const RECORDS = 3_000;
const BYTES = 24 * MIB;
/** A collection with as much is not small any more. */
const OWN_FILE_BYTES = 4.5 * MIB;
const COLLECTIONS = 20;
const DATABASES = 3;
const REPLY_BYTES = 4 * MIB;
const WRITERS = 32;
const OVER_QUOTA = 422;

let stage: Stage;
beforeAll(async () => {
  const bounds = {
    "quota-records": RECORDS,
    "quota-bytes": BYTES,
    "quota-collections": COLLECTIONS,
    "quota-databases": DATABASES,
    "reply-bytes": REPLY_BYTES,
  };
  stage = await Stage.open({
    args: Object.entries(bounds).flatMap(([name, value]) => [`--${name}`, String(value)]),
  });
});
afterAll(() => stage.close());

function writers<T>(work: (writer: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: WRITERS }, (_, writer) => work(writer)));
}

async function statusOf(reply: Response): Promise<number> {
  const text = await reply.text();
  if (reply.status === OVER_QUOTA) expect(text).toContain("Quota exceeded");
  return reply.status;
}

/** Adds batches of so many records until one is refused. */
async function addUntilRefused(tenant: Tenant, path: string, prefix: string, batch: number): Promise<void> {
  for (let i = 0; ; i++) {
    const ids = Array.from({ length: batch }, (_, j) => `${prefix}-${i}-${j}`);
    const body = { ids, embeddings: ids.map(() => [1, 2]) };
    const status = await statusOf(await tenant.send(`${path}/add`, body));
    if (status === OVER_QUOTA) return;
    expect(status).toBe(201);
  }
}

/** Without making it larger or smaller. */
async function upsertUntilGone(tenant: Tenant, path: string, id: string): Promise<void> {
  for (let status = 200; status !== 404;) {
    status = await statusOf(await tenant.send(`${path}/upsert`, { ids: [id], embeddings: [[1]] }));
    expect([200, 404]).toContain(status);
  }
}

async function write(tenant: Tenant, path: string, id: string, characters: number): Promise<number> {
  const documents = [id.padEnd(characters, "x")];
  return statusOf(await tenant.send(`${path}/upsert`, { ids: [id], embeddings: [[1]], documents }));
}

/** With documents of ever smaller sizes, until nothing of a size fits. */
async function fillUp(tenant: Tenant, paths: readonly string[]): Promise<void> {
  await writers(async (writer) => {
    for (let size = (writer + 1) * 40_000, i = 0; size > 2_000; i++) {
      const status = await write(tenant, paths[writer % paths.length]!, `${writer}-${i}`, size);
      if (status === OVER_QUOTA) size = Math.floor(size / 4);
    }
  });
}

async function countAll(tenant: Tenant, paths: readonly string[]): Promise<number> {
  const counts = await Promise.all(paths.map((path) => tenant.expect<number>(200, `${path}/count`)));
  return counts.reduce((sum, count) => sum + count, 0);
}

describe("quotas, approached by 32 writers at once", () => {
  it("of records hold to the record", async () => {
    const { attacker } = stage;
    const paths = await Promise.all(
      ["a", "b", "c", "d"].map((name) => attacker.createCollection(`records-${name}`)),
    );
    await stage.unharmed(WITHIN_MIB, async () => {
      await writers((writer) => addUntilRefused(attacker, paths[writer % 4]!, `seven-${writer}`, 7));
      expect(await countAll(attacker, paths)).toBeGreaterThan(RECORDS - 7);
      await writers((writer) => addUntilRefused(attacker, paths[writer % 4]!, `one-${writer}`, 1));
      expect(await countAll(attacker, paths)).toBe(RECORDS);
    });
  });

  it("of bytes are not exceeded, by many writes or by one, and free what is deleted beside writes", async () => {
    const tenant = await createTenant(stage.served, "large");
    const names = ["one", "two", "three"];
    const paths = await Promise.all(names.map((name) => tenant.createCollection(name)));
    const [first, ...others] = paths as [string, ...string[]];
    await stage.unharmed(WITHIN_MIB, async () => {
      expect(await write(tenant, first, "whole", BYTES / 2)).toBe(200);
      expect(await write(tenant, others[0]!, "more", BYTES / 2)).toBe(OVER_QUOTA);
      // Small ones share a file, and are counted in other units.
      for (const path of others) expect(await write(tenant, path, "own", OWN_FILE_BYTES)).toBe(200);
      await fillUp(tenant, others);
      expect(usedBytes(paths)).toBeLessThanOrEqual(BYTES);
      expect(usedBytes(paths)).toBeGreaterThan(0.8 * BYTES);
      // Growing what is there is a write like any other; getting smaller always fits.
      expect(await write(tenant, first, "whole", 0.6 * BYTES)).toBe(OVER_QUOTA);
      expect(await write(tenant, others[0]!, "own", 1)).toBe(200);
      // A write that is under way when its collection goes must not count what is gone.
      const writing = writers(() => upsertUntilGone(tenant, first, "whole"));
      await sleep(200);
      const removed = await tenant.send(`${tenant.collections}/one`, undefined, { method: "DELETE" });
      expect(removed.status).toBe(200);
      await writing;
      await fillUp(tenant, others);
      expect(usedBytes(others)).toBeLessThanOrEqual(BYTES);
      expect(usedBytes(others)).toBeGreaterThan(0.8 * BYTES);
    });
  });

  it("of collections and databases hold to the one", async () => {
    const tenant = await createTenant(stage.served, "many");
    await stage.unharmed(WITHIN_MIB, async () => {
      const made = await writers((writer) =>
        tenant.send(tenant.collections, { name: `made-${writer}` }).then(statusOf),
      );
      expect(made.filter((status) => status === 200)).toHaveLength(COLLECTIONS);
      expect(made.filter((status) => status === OVER_QUOTA)).toHaveLength(WRITERS - COLLECTIONS);
      const databases = await writers((writer) =>
        tenant.send(`/api/v2/tenants/${tenant.name}/databases`, { name: `made-${writer}` }).then(statusOf),
      );
      // One was there before.
      expect(databases.filter((status) => status === 200)).toHaveLength(DATABASES - 1);
      expect(databases.filter((status) => status === OVER_QUOTA)).toHaveLength(WRITERS - DATABASES + 1);
    });
  });
});

/** Of the records of collections, as the engine counts them against the quota. */
function usedBytes(paths: readonly string[]): number {
  let sum = 0;
  for (const path of paths) {
    const id = path.split("/").at(-1)!;
    const folder = new DataFolder(stage.served.data).collection(id);
    const store = new LmdbRecordStore(
      ownEnvironment({ folder, name: id, disk: createDiskSpace(folder), readOnly: true }),
    );
    sum += store.usedBytes;
    void store.close();
  }
  return sum;
}

describe("a reply", () => {
  const DOCUMENTS = 8;
  let tenant: Tenant;
  let path: string;

  /** So that the reply of `request` has so many bytes; gives how many it has. */
  async function resize(request: Request, bytes: number): Promise<void> {
    await store(1);
    const { length } = await ask(request);
    await store(1 + bytes - length);
  }

  async function store(characters: number): Promise<void> {
    await tenant.expect(200, `${path}/upsert`, {
      ids: ["last"],
      embeddings: [[0]],
      documents: ["y".repeat(characters)],
    });
  }

  interface Request {
    readonly operation: string;
    readonly body: unknown;
  }

  async function ask({
    operation,
    body,
  }: Request): Promise<{ status: number; length: number; text: string }> {
    const reply = await tenant.send(`${path}/${operation}`, body, {
      headers: { "accept-encoding": "identity" },
    });
    const text = await reply.text();
    return { status: reply.status, length: Buffer.byteLength(text), text };
  }

  beforeAll(async () => {
    tenant = await createTenant(stage.served, "reader");
    path = await tenant.createCollection("read");
    const ids = Array.from({ length: DOCUMENTS }, (_, i) => `r${i}`);
    await tenant.expect(201, `${path}/add`, {
      ids,
      embeddings: ids.map((_, i) => [i + 1]),
      documents: ids.map(() => "x".repeat(REPLY_BYTES / DOCUMENTS - 10_000)),
    });
  });

  const requests: readonly Request[] = [
    { operation: "get", body: { include: ["documents"] } },
    { operation: "query", body: { query_embeddings: [[0]], n_results: 100, include: ["documents"] } },
    {
      operation: "search",
      body: { searches: [{ rank: { $knn: { query: [0], limit: 100 } }, select: { keys: ["#document"] } }] },
    },
  ];

  it.each(requests)(
    "of $operation may have as many bytes as the bound, and not one more",
    async (request) => {
      await stage.unharmed(WITHIN_MIB, async () => {
        await resize(request, REPLY_BYTES);
        const whole = await ask(request);
        expect([whole.status, whole.length]).toEqual([200, REPLY_BYTES]);
        expect((JSON.parse(whole.text) as { ids: unknown[] }).ids.flat()).toHaveLength(DOCUMENTS + 1);
        await resize(request, REPLY_BYTES + 1);
        const over = await ask(request);
        expect([over.status, over.text]).toEqual([413, expect.stringMatching(/"limit: .*limit/u)]);
      });
    },
  );

  it("counts before it is compressed", async () => {
    const [get] = requests as [Request];
    await resize(get, REPLY_BYTES);
    const gzip = { headers: { "accept-encoding": "gzip" } };
    const whole = await tenant.send(`${path}/get`, get.body, gzip);
    expect([whole.status, whole.headers.get("content-encoding")]).toEqual([200, "gzip"]);
    expect((await whole.text()).length).toBe(REPLY_BYTES);
    await resize(get, REPLY_BYTES + 1);
    expect((await tenant.send(`${path}/get`, get.body, gzip)).status).toBe(413);
  });
});

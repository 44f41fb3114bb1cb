/** Request bodies: large legal ones, many at once, ones that are dear to parse, and ones that inflate. */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  INTEGER_ARRAYS,
  INTEGER_RECORDS,
  integerList,
  integerWrite,
  listSearches,
  manyMembers,
} from "./testing/attack-requests.ts";
import { Stage } from "./testing/stage.ts";
import { MIB } from "./testing/memory-watch.ts";
import { type Tenant, createTenant } from "./testing/tenant.ts";

/** Vectors come from the client. */
const NO_FUNCTION = { configuration: { embedding_function: null } };
const WITHIN_MIB = 2_000;
/** What is kept of each is found with the third. */
const TENANTS = 3;
const INTEGER_WRITE = integerWrite();

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});

interface Sent {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

async function send(tenant: Tenant, path: string, body: string | Uint8Array, headers = {}): Promise<Sent> {
  const reply = await tenant.send(path, body, { headers });
  return { status: reply.status, retryAfter: reply.headers.get("retry-after"), text: await reply.text() };
}

/** Whether the collection holds what `integerWrite` sends. */
async function expectIntegers(tenant: Tenant, collection: string): Promise<void> {
  expect(await tenant.expect(200, `${collection}/count`)).toBe(INTEGER_RECORDS);
  for (const record of [0, INTEGER_RECORDS - 1]) {
    const query = { ids: [`r${record}`], include: ["metadatas"] };
    const reply = await tenant.send(`${collection}/get`, query);
    const text = await reply.text();
    expect(text.split(`:[${integerList(record)}]`)).toHaveLength(INTEGER_ARRAYS + 1);
  }
}

describe("large legal bodies", () => {
  it("are taken or told to come back, five at once", async () => {
    const { attacker } = stage;
    expect(INTEGER_WRITE.length).toBeGreaterThan(54_000_000);
    await stage.unharmed(WITHIN_MIB, async () => {
      const collection = await attacker.createCollection("at-once", NO_FUNCTION);
      const all = await Promise.all(
        Array.from({ length: 5 }, () => send(attacker, `${collection}/upsert`, INTEGER_WRITE)),
      );
      for (const { status, retryAfter, text } of all) {
        expect([200, 429], text).toContain(status);
        if (status === 429) expect(Number(retryAfter)).toBeGreaterThan(0);
      }
      expect(all.filter(({ status }) => status === 200)).not.toEqual([]);
      await expectIntegers(attacker, collection);
    });
  });

  it("are taken from one tenant after the other", async () => {
    const tenants = await Promise.all(
      Array.from({ length: TENANTS }, (_, i) => createTenant(stage.served, `heavy-${i}`)),
    );
    await stage.unharmed(WITHIN_MIB, async () => {
      for (const tenant of tenants) {
        const collection = await tenant.createCollection("legal", NO_FUNCTION);
        expect(await send(tenant, `${collection}/add`, INTEGER_WRITE)).toMatchObject({ status: 201 });
      }
    });
  });

  it("may be gzip, and no more than they may have without", async () => {
    const { attacker } = stage;
    const write = JSON.stringify({
      ids: ["a"],
      embeddings: [[1, 2]],
      documents: ["zipped ".repeat(100_000)],
    });
    const gzip = { "content-encoding": "gzip" };
    // A GiB, in members that are read one after the other.
    const member = gzipSync(Buffer.alloc(16 * MIB, " "), { level: 9 });
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => member));
    await stage.unharmed(WITHIN_MIB, async () => {
      const collection = await attacker.createCollection("zipped", NO_FUNCTION);
      const path = `${collection}/add`;
      expect(await send(attacker, path, gzipSync(write), gzip)).toMatchObject({ status: 201 });
      expect(await attacker.expect(200, `${collection}/count`)).toBe(1);
      expect(await send(attacker, path, bomb, gzip)).toMatchObject({ status: 413 });
      expect(await send(attacker, path, write, gzip)).toMatchObject({ status: 400 });
      const twice = { "content-encoding": "gzip, gzip" };
      expect(await send(attacker, path, gzipSync(gzipSync(write)), twice)).toMatchObject({ status: 415 });
    });
  });
});

describe("bodies that are dear to read", () => {
  it("are refused where an object has 4,000,000 members", async () => {
    const { attacker } = stage;
    const body = `{${manyMembers()}}`;
    await stage.unharmed(WITHIN_MIB, async () => {
      const collection = await attacker.createCollection("members", NO_FUNCTION);
      for (const path of [`${collection}/upsert`, `${collection}/get`, attacker.collections]) {
        expect(await send(attacker, path, body)).toMatchObject({ status: 400 });
      }
    });
  });

  it("are answered right where 100 searches list 100,000 values each", async () => {
    const { attacker } = stage;
    const ids = Array.from({ length: 1_000 }, (_, i) => `r${i}`);
    const body = listSearches("n", 500, `"rank":{"$knn":{"query":[0,1]}},"limit":{"limit":2}`);
    await stage.unharmed(WITHIN_MIB, async () => {
      const collection = await attacker.createCollection("listed", NO_FUNCTION);
      await attacker.expect(201, `${collection}/add`, {
        ids,
        embeddings: ids.map((_, i) => [i, 1]),
        metadatas: ids.map((_, n) => ({ n })),
      });
      const answer = await attacker.expect<{ ids: string[][] }>(200, `${collection}/search`, body);
      expect(answer.ids).toEqual(Array.from({ length: 100 }, () => ["r500", "r501"]));
    });
  });
});

/**
 * Writes that take far more memory than their bytes, many at once, and writes whose callers leave while the engine works
 * on them: within 2 GB over all processes, with every record of a write that was answered.
 */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Stage } from "./testing/stage.ts";
import type { Tenant } from "./testing/tenant.ts";

const WITHIN_MIB = 2_000;
const NO_FUNCTION = { configuration: { embedding_function: null } };
const TINY_RECORDS = 4_000;
const AT_ONCE = 200;
const LEAVERS = 4;
const LEAVING_MS = 5_000;
/** After the last byte: while the body is parsed, while the write crosses to the engine, while it is stored. */
const LEAVE_AFTER_MS = [0, 400, 900, 1_500];
/** Tells slow from hung. */
const MOST_MS = 120_000;
const PATIENCE = { timeout: 60_000, interval: 500 };

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** 40 KB of JSON that take over a megabyte as records. */
function tinyRecords(): string {
  const ids = Array.from({ length: TINY_RECORDS }, (_, i) => `"${i.toString(36)}"`);
  return `{"ids":[${ids.join()}],"embeddings":[${ids.map(() => "[1]").join()}]}`;
}

/** 39 MB: 5 records of 30 metadata arrays of 130,001 digits. */
function integerWrite(): Buffer {
  const ids = Array.from({ length: 5 }, (_, i) => `"r${i}"`);
  const list = Array.from({ length: 130_001 }, (_, i) => i % 10).join();
  const metadata = `{${Array.from({ length: 30 }, (_, k) => `"k${k}":[${list}]`).join()}}`;
  return Buffer.from(
    `{"ids":[${ids.join()}],"embeddings":[${ids.map(() => "[1,2]").join()}],"metadatas":[${ids.map(() => metadata).join()}]}`,
  );
}

/** Sends a request and closes the connection so long after its last byte. */
function sendAndLeave(tenant: Tenant, path: string, body: Buffer, afterMs: number): Promise<void> {
  const { hostname, port } = new URL(tenant.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    const headers = [
      `POST ${path} HTTP/1.1`,
      `host: ${hostname}`,
      `x-service-token: ${tenant.key}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
    ];
    socket.write(`${headers.join("\r\n")}\r\n\r\n`);
    socket.write(body, () => setTimeout(() => socket.destroy(), afterMs));
    // Of a body that is not read, because others of its tenant are in progress.
    setTimeout(() => socket.destroy(), LEAVING_MS).unref();
  });
}

describe("work in flight", () => {
  it(
    "is bounded by what small bodies take once they are parsed",
    async () => {
      const { attacker } = stage;
      const body = tinyRecords();
      await stage.unharmed(WITHIN_MIB, async () => {
        const path = await attacker.createCollection("tiny", NO_FUNCTION);
        const statuses = await Promise.all(
          Array.from({ length: AT_ONCE }, async () => {
            const reply = await attacker.send(`${path}/upsert`, body);
            await reply.arrayBuffer();
            if (reply.status === 429) expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
            return reply.status;
          }),
        );
        expect(new Set(statuses)).toEqual(new Set([200, 429]));
        expect(await attacker.expect(200, `${path}/count`)).toBe(TINY_RECORDS);
        expect((await attacker.send(`${path}/upsert`, body)).status, "alone").toBe(200);
      });
    },
    MOST_MS,
  );

  it(
    "is charged to its tenant until the engine has done it, whether its caller waits or not",
    async () => {
      const { attacker } = stage;
      const body = integerWrite();
      await stage.unharmed(WITHIN_MIB, async () => {
        const path = await attacker.createCollection("left", NO_FUNCTION);
        const until = performance.now() + LEAVING_MS;
        await Promise.all(
          Array.from({ length: LEAVERS }, async (_, leaver) => {
            for (let i = leaver; performance.now() < until; i++) {
              await sendAndLeave(attacker, `${path}/upsert`, body, LEAVE_AFTER_MS[i % LEAVERS]!);
            }
          }),
        );
        const write = async (): Promise<number> => {
          const reply = await attacker.send(`${path}/upsert`, body);
          await reply.arrayBuffer();
          return reply.status;
        };
        // What is under way then is done sooner or later, and given back.
        await expect.poll(write, PATIENCE).toBe(200);
        expect(await attacker.expect(200, `${path}/count`)).toBe(5);
      });
    },
    MOST_MS,
  );
});

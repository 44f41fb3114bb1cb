/**
 * Collections, databases and tenants that are deleted while their records are searched and on their way to clients that
 * read slowly: connections end short of what was announced, and nothing of it is kept in memory or on disk.
 */
import { existsSync } from "node:fs";
import { readdir, readlink } from "node:fs/promises";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DataFolder } from "../../packages/engine/src/storage/folder/data-folder.ts";
import { documentCollection, status } from "./testing/heavy-work.ts";
import { Stage } from "./testing/stage.ts";
import { type Tenant, createTenant } from "./testing/tenant.ts";
import { askUnread, openReads, replyBytes } from "./testing/unread-replies.ts";

const MIB = 1024 * 1024;
const WITHIN_MIB = 2_000;
const DOCUMENTS = 8;
const UNREAD = 6;
const SEARCHERS = 8;
const SHORT = 5_000;
const PATIENCE = { timeout: 60_000, interval: 50 };
/** All documents, four times: far more than what lies between a server and a client that does not read. */
const LONG_SEARCH = {
  searches: Array.from({ length: 4 }, () => ({ select: { keys: ["#document"] } })),
};
const REPLY_BYTES = 4 * DOCUMENTS * MIB;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

interface Received {
  readonly status: number;
  readonly announced: number;
  readonly received: number;
}

/** Reads to the end of the reply or of the connection. */
async function readAll(socket: Socket): Promise<Received> {
  const chunks: Buffer[] = [];
  const state = (): Received => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf("\r\n\r\n");
    const head = all.subarray(0, end).toString();
    const announced = Number(/content-length: (\d+)/iu.exec(head)?.[1]);
    return { status: Number(head.split(" ")[1]), announced, received: all.length - end - 4 };
  };
  await new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      // The connection of a short reply stays open.
      if (chunks.length === 1 && state().status !== 200) resolve();
    });
    socket.resume();
  });
  socket.destroy();
  return state();
}

async function shortDocuments(tenant: Tenant): Promise<string> {
  const path = await tenant.createCollection("short");
  const ids = Array.from({ length: SHORT }, (_, i) => `r${i}`);
  const documents = ids.map((id) => `fast winter ${id}7 river `.repeat(10));
  await tenant.expect(201, `${path}/add`, { ids, documents, embeddings: ids.map((_, i) => [i, 1]) });
  return path;
}

/** Searches until the collection is gone; gives the statuses there were. */
async function searchUntilGone(tenant: Tenant, path: string): Promise<ReadonlySet<number>> {
  const seen = new Set<number>();
  const where_document = { $regex: "(?i)fast [a-z]+ [0-9]*7 (river|engine)" };
  const searches = [{ rank: { $knn: { query: [0.1, 0.2], limit: SHORT } } }];
  for (let i = 0; !seen.has(404) && !seen.has(401) && !seen.has(403); i++) {
    const [operation, body] =
      i % 2 === 0 ? ["search", { searches }] : ["get", { where_document, include: [] }];
    // The connection ends where the collection goes while its reply is sent.
    seen.add(await status(tenant, `${path}/${operation}`, body, {}).catch(() => 200));
  }
  return seen;
}

/** Files of spooled replies that a process of the server still has open. */
async function spoolFiles(): Promise<readonly string[]> {
  const folder = `/proc/${stage.served.pid}/fd`;
  const links = await Promise.all(
    (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => "")),
  );
  return links.filter((link) => link.includes("/spool/"));
}

function isStored(path: string): boolean {
  return existsSync(new DataFolder(stage.served.data).collectionFile(path.split("/").at(-1)!));
}

const doomed = [
  ["its collections", (tenant: Tenant) => tenant.collections],
  ["its database", (tenant: Tenant) => `/api/v2/tenants/${tenant.name}/databases/main`],
  ["the tenant", (tenant: Tenant) => `/api/v2/tenants/${tenant.name}`],
] as const;

describe("a tenant whose records are being read and searched", () => {
  it.each(doomed)("may lose %s: connections are cut short and nothing is kept", async (what, pathOf) => {
    const tenant = await createTenant(stage.served, `doomed-${what.replace(" ", "-")}`);
    const [documents, short] = [
      await documentCollection(tenant, DOCUMENTS, MIB),
      await shortDocuments(tenant),
    ];
    const remove = async (): Promise<void> => {
      const names = what === "its collections" ? [`documents-${DOCUMENTS}-${MIB}`, "short"] : [];
      const paths = names.length > 0 ? names.map((name) => `${pathOf(tenant)}/${name}`) : [pathOf(tenant)];
      for (const path of paths) {
        expect((await stage.served.request(path, { method: "DELETE" })).status).toBe(200);
      }
    };
    await stage.unharmed(WITHIN_MIB, async () => {
      const unread = Array.from({ length: UNREAD }, () =>
        askUnread(tenant, `${documents}/search`, LONG_SEARCH),
      );
      const searching = Array.from({ length: SEARCHERS }, () => searchUntilGone(tenant, short));
      await expect
        .poll(async () => (await replyBytes(stage)).at(-1), PATIENCE)
        .toBeGreaterThan((UNREAD - 1) * REPLY_BYTES);
      await remove();
      const all = await Promise.all(unread.map(readAll));
      // One that was still being made is answered with 404, or with 401: the key of a deleted tenant is deleted with it.
      const cut = all.filter(({ status }) => status === 200);
      expect(cut.length).toBeGreaterThanOrEqual(UNREAD - 2);
      for (const { announced, received } of cut) {
        expect(announced).toBeGreaterThan(REPLY_BYTES);
        expect(received).toBeLessThan(announced);
      }
      expect(all.filter(({ status }) => ![200, 404, 401].includes(status))).toEqual([]);
      for (const seen of await Promise.all(searching)) {
        expect([...seen].filter((one) => ![200, 404, 401, 403].includes(one))).toEqual([]);
      }
      await expect.poll(() => replyBytes(stage), PATIENCE).toEqual([0, 0]);
      await expect.poll(() => openReads(stage), PATIENCE).toBe(0);
      expect(await spoolFiles()).toEqual([]);
      await expect.poll(() => [documents, short].filter(isStored), PATIENCE).toEqual([]);
    });
  });
});

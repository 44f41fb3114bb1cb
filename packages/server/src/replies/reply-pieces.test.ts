/** Replies that grow in memory and in a file: what is sent is what was written, column after column. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ReplyPieces } from "./reply-pieces.ts";
import { ReplyStore } from "./reply-store.ts";

const MIB = 1024 * 1024;
const PIECE = 16 * 1024;

let folder: string;
let store: ReplyStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-pieces-test-"));
  const bytes = 64 * MIB;
  const bounds = { replyBytes: bytes, replyBytesPerTenant: bytes, replyBytesTotal: bytes };
  store = new ReplyStore({ ...bounds, folder, diskReserve: 0 });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/**
 * What was written and what was sent, of pieces of `length` characters in two columns, `perFlush` of them between two
 * moves to the file.
 */
async function written(
  count: number,
  length: number,
  perFlush: number,
): Promise<{ text: string; sent: string }> {
  const pieces = new ReplyPieces(store, "t", { columns: 2, advice: "" });
  const columns = ["", ""];
  for (let i = 0; i < count; i++) {
    const text = `${i} é `.padEnd(length, String.fromCodePoint(97 + (i % 26)));
    columns[i % 2] += text;
    pieces.write(i % 2, text);
    if ((i + 1) % perFlush === 0) await pieces.flush();
  }
  const sent = await buffer(pieces.body("]"));
  return { text: `${columns.join("")}]`, sent: sent.toString() };
}

it("sends columns that went to the file in several moves, with the rest from memory", async () => {
  const { text, sent } = await written(301, 5_000, 100);
  expect(sent === text).toBe(true);
  expect([store.inMemory, store.spooled]).toEqual([0, 0]);
});

it("moves more pieces at once than the kernel takes in one call", async () => {
  const mostOfOneCall = 1024;
  const { text, sent } = await written(mostOfOneCall + 100, PIECE, mostOfOneCall + 50);
  expect(sent === text).toBe(true);
});

it("has nothing to move where nothing was written", async () => {
  const pieces = new ReplyPieces(store, "t", { columns: 2, advice: "" });
  await pieces.flush();
  expect((await buffer(pieces.body("]"))).toString()).toBe("]");
});

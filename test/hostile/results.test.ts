/**
 * Replies that are far larger than the memory of the server, asked for by few bytes and read by nobody: within 2 GB over
 * all processes, while the same reads by somebody who reads them are right to the byte.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { documentSearches } from "./testing/attack-requests.ts";
import { Stage } from "./testing/stage.ts";
import { askUnread, receiversCut, replyBytes } from "./testing/unread-replies.ts";

const WITHIN_MIB = 2_000;
const DOCUMENTS = 14;
const DOCUMENT_CHARACTERS = 4 * 1024 * 1024;
const UNREAD = 100;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;
const WAIT = { timeout: 100_000, interval: 500 };

let stage: Stage;
let collection: string;

beforeAll(async () => {
  stage = await Stage.open({ args: ["--receiver-seconds", "2"] });
  collection = await stage.attacker.createCollection("long");
  for (let i = 0; i < DOCUMENTS; i++) await write(i, 0);
});
afterAll(() => stage.close());

function text(i: number, version: number): string {
  return `version ${version} of document ${i}: `.padEnd(DOCUMENT_CHARACTERS, "lorem ipsum ");
}

async function write(i: number, version: number): Promise<void> {
  await stage.attacker.expect(200, `${collection}/upsert`, {
    ids: [`r${i}`],
    embeddings: [[i, 1]],
    documents: [text(i, version)],
  });
}

/** Version of each document; -1: none that was written. Nobody can read a difference of megabytes. */
function versionsOf(documents: readonly string[]): readonly number[] {
  return documents.map((document, i) => [0, 1].find((version) => document === text(i, version)) ?? -1);
}

describe("searches of a few bytes", () => {
  it(
    "for GiB of documents are 413 and name limit, and the legal part of them is right",
    async () => {
      const { attacker } = stage;
      const payload = { select: { keys: ["#document"] } };
      await stage.unharmed(WITHIN_MIB, async () => {
        const replies = await Promise.all(
          [1, 2].map(() => attacker.send(`${collection}/search`, documentSearches())),
        );
        for (const reply of replies) {
          expect([reply.status, await reply.text()]).toEqual([413, expect.stringMatching(/limit/u)]);
        }
      });
      // Read beside the bystander it would hold up its clock: both are in this process.
      const searches = [payload, payload];
      const found = await attacker.expect<{ documents: string[][] }>(200, `${collection}/search`, {
        searches,
      });
      const all = Array.from({ length: DOCUMENTS }, () => 0);
      expect(found.documents.map(versionsOf)).toEqual([all, all]);
    },
    MOST_MS,
  );
});

describe("gets that nobody reads", () => {
  it(
    "are bounded and cut, and one that is read shows one state",
    async () => {
      const { attacker } = stage;
      await stage.unharmed(WITHIN_MIB, async () => {
        const sockets = Array.from({ length: UNREAD }, () => askUnread(attacker, `${collection}/get`, {}));
        await expect.poll(() => receiversCut(stage), WAIT).toBeGreaterThan(0);
        for (const socket of sockets) socket.destroy();
      });
      await expect.poll(() => replyBytes(stage), WAIT).toEqual([0, 0]);
      const rewriting = (async () => {
        for (let i = 0; i < DOCUMENTS; i++) await write(i, 1);
      })();
      const body = { include: ["documents"] };
      const { documents } = await attacker.expect<{ documents: string[] }>(200, `${collection}/get`, body);
      await rewriting;
      const versions = versionsOf(documents);
      expect(versions).toHaveLength(DOCUMENTS);
      expect(versions).not.toContain(-1);
      // The documents were written in their order, so of one state the first are new and the others old.
      expect(versions).toEqual(versions.toSorted((x, y) => y - x));
    },
    MOST_MS,
  );
});

/**
 * Many collections with the largest legal metadata, listed many times at once and by receivers that read nothing: within
 * 2 GB over all processes, while whoever reads a list gets every collection as it was described.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIMITS } from "@sheaf/protocol";
import { Stage } from "./testing/stage.ts";
import { askUnread, receiversCut, replyBytes } from "./testing/unread-replies.ts";

const WITHIN_MIB = 2_000;
const COLLECTIONS = 120;
const LISTS = 20;
const UNREAD = 50;
const CHARACTERS = LIMITS.collectionMetadataBytes - JSON.stringify({ text: "" }).length;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;
const WAIT = { timeout: 100_000, interval: 500 };

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open({ args: ["--receiver-seconds", "2"] });
  for (let i = 0; i < COLLECTIONS; i++) {
    await stage.attacker.createCollection(nameOf(i), { metadata: { text: textOf(i) } });
  }
}, MOST_MS);
afterAll(() => stage.close());

function nameOf(i: number): string {
  return `large-${i}`;
}

function textOf(i: number): string {
  return `metadata of ${i}: `.padEnd(CHARACTERS, "lorem ipsum ");
}

/** Reads a list without keeping it: the bystander's clock is in this process. */
async function sizeOfList(): Promise<{ readonly status: number; readonly bytes: number }> {
  const reply = await stage.attacker.send(stage.attacker.collections, undefined, {
    headers: { "accept-encoding": "identity" },
  });
  let bytes = 0;
  for await (const chunk of reply.body ?? []) bytes += (chunk as Uint8Array).length;
  return { status: reply.status, bytes };
}

describe("collections with as much metadata as they may have", () => {
  it(
    "are listed whole, many times at once, or refused with 429",
    async () => {
      const { attacker } = stage;
      const { value } = await stage.unharmed(WITHIN_MIB, () =>
        Promise.all(Array.from({ length: LISTS }, sizeOfList)),
      );
      const whole = value.filter(({ status }) => status === 200);
      expect(whole.length).toBeGreaterThan(0);
      expect(new Set(value.map(({ status }) => status))).toEqual(
        whole.length === LISTS ? new Set([200]) : new Set([200, 429]),
      );
      const listed = await attacker.expect<{ name: string; metadata: { text: string } }[]>(
        200,
        attacker.collections,
      );
      expect(new Set(whole.map(({ bytes }) => bytes))).toEqual(
        new Set([Buffer.byteLength(JSON.stringify(listed))]),
      );
      expect(listed.map(({ name }) => name)).toEqual(
        Array.from({ length: COLLECTIONS }, (_, i) => nameOf(i)),
      );
      // Nobody can read a difference of megabytes.
      expect(listed.every(({ metadata }, i) => metadata.text === textOf(i))).toBe(true);
    },
    MOST_MS,
  );

  it(
    "are bounded and cut where nobody reads them",
    async () => {
      const { attacker } = stage;
      await stage.unharmed(WITHIN_MIB, async () => {
        const cut = await receiversCut(stage);
        const lists = Array.from({ length: UNREAD }, () => askUnread(attacker, attacker.collections));
        const single = Array.from({ length: UNREAD }, (_, i) =>
          askUnread(attacker, `${attacker.collections}/${nameOf(i)}`),
        );
        await expect.poll(() => receiversCut(stage), WAIT).toBeGreaterThan(cut);
        for (const socket of [...lists, ...single]) socket.destroy();
      });
      await expect.poll(() => replyBytes(stage), WAIT).toEqual([0, 0]);
    },
    MOST_MS,
  );
});

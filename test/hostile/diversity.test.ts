/** The largest pools that results which differ are chosen from, by several callers at once, while others are answered. */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
const CALLERS = 8;
const POOL = LIMITS.mmrPool;
const DIMENSION = LIMITS.dimensions;
const RECORDS_PER_CALL = 100;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** Every record points its own way, the first ones nearest to the query. */
function embedding(record: number): string {
  const vector = new Float32Array(DIMENSION).fill(0.001);
  vector[0] = 1 - record / (2 * POOL);
  vector[1 + (record % (DIMENSION - 1))] = 0.5;
  return Buffer.from(vector.buffer).toString("base64");
}

it(
  "are chosen from a thousand of the longest vectors, or refused with 429",
  async () => {
    const { attacker } = stage;
    const path = await attacker.createCollection("pool");
    for (let from = 0; from < POOL; from += RECORDS_PER_CALL) {
      const numbers = Array.from({ length: RECORDS_PER_CALL }, (_, i) => from + i);
      const ids = numbers.map((i) => `r${i}`);
      await attacker.expect(201, `${path}/add`, { ids, embeddings: numbers.map(embedding) });
    }
    const query = Array.from({ length: DIMENSION }, (_, i) => (i === 0 ? 1 : 0));
    const search = { rank: { $knn: { query, limit: POOL } }, mmr: { lambda: 0.5, limit: POOL } };
    const body = JSON.stringify({ searches: [search] });
    const { value } = await stage.unharmed(WITHIN_MIB, () =>
      Promise.all(
        Array.from({ length: CALLERS }, async () => {
          const reply = await attacker.send(`${path}/search`, body);
          const answer = (await reply.json()) as { ids?: string[][] };
          expect([200, 429]).toContain(reply.status);
          if (reply.status === 429) expect(reply.headers.get("retry-after")).not.toBeNull();
          return answer.ids?.[0] ?? null;
        }),
      ),
    );
    const answers = value.filter((ids) => ids !== null);
    expect(answers.length).toBeGreaterThan(0);
    for (const ids of answers) expect(ids).toEqual(answers[0]);
    expect(new Set(answers[0]).size).toBe(POOL);
    expect(answers[0]![0]).toBe("r0");
    const over = JSON.stringify({ searches: [{ ...search, mmr: { limit: POOL + 1 } }] });
    expect((await attacker.send(`${path}/search`, over)).status).toBe(400);
  },
  MOST_MS,
);

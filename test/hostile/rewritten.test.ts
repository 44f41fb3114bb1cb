/** Small writes to a record that is long: each of them makes the record anew, and what it was must not stay in memory. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Stage } from "./testing/stage.ts";

/** Vectors come from the client. */
const NO_FUNCTION = { configuration: { embedding_function: null } };
/** Of the former versions alone there are more. */
const WITHIN_MIB = 1_300;
const WRITES = 40;
const CLIENTS = 16;
const TEXTS = 30;
const TEXT = "x".repeat(1_000_000);

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});

describe("small writes to one long record", () => {
  it("leave nothing of its former versions in memory", async () => {
    const { attacker } = stage;
    const collection = await attacker.createCollection("long", NO_FUNCTION);
    const texts = Object.fromEntries(Array.from({ length: TEXTS }, (_, i) => [`k${i}`, TEXT]));
    const first = { ids: ["a"], embeddings: [[1, 2]], metadatas: [texts] };
    await attacker.expect(200, `${collection}/upsert`, first);
    await stage.unharmed(WITHIN_MIB, async () => {
      let next = 0;
      const client = async (): Promise<void> => {
        while (next < WRITES) {
          const n = next++;
          await attacker.expect(200, `${collection}/upsert`, {
            ids: ["a"],
            embeddings: [[1, n]],
            metadatas: [{ n }],
          });
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
    });
    const query = { ids: ["a"], include: ["metadatas"] };
    const reply = (await (await attacker.send(`${collection}/get`, query)).json()) as {
      metadatas: Record<string, unknown>[];
    };
    expect(Object.keys(reply.metadatas[0]!)).toHaveLength(TEXTS + 1);
    expect(reply.metadatas[0]!["k7"]).toBe(TEXT);
  });
});

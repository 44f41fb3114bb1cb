/**
 * Searches that ask for as much explanation as there may be: traces of a million nodes, whether operators or terms, and
 * reasons for a hundred records out of a filter of many clauses. What is at the bound is answered, what is over it refused,
 * and others are answered meanwhile.
 */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
const RECORDS = LIMITS.resultsPerPage;
const TERMS = LIMITS.sparseNonZeros;
/** As many as have a million terms together, and some more. */
const LONG_VECTORS = Math.floor(LIMITS.traceNodes / (TERMS + 1)) + 3;
const DOCUMENT_CHARACTERS = 100_000;
const CLAUSES = 150;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;

interface Explained {
  readonly ids: readonly (readonly string[])[];
  readonly traces: readonly (readonly { readonly terms?: readonly unknown[] }[])[];
  readonly why_not?: readonly (readonly { readonly reason: string; readonly path?: string }[])[];
}

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function search(path: string, one: object): Promise<Explained> {
  return stage.attacker.expect<Explained>(200, `${path}/search`, { searches: [one] });
}

async function isTooLarge(path: string, one: object): Promise<void> {
  const reply = await stage.attacker.send(`${path}/search`, { searches: [one] });
  const { message } = (await reply.json()) as { message: string };
  expect([reply.status, message]).toEqual([
    413,
    expect.stringMatching(/^searches\[0\]\.explain: the traces of a call have at most 1000000 nodes/u),
  ]);
}

describe("explanations", () => {
  it(
    "of a million operators are made while others are answered, and no more",
    async () => {
      const path = await stage.attacker.createCollection("operators");
      const ids = numbers(RECORDS).map((i) => `r${i}`);
      await stage.attacker.expect(201, `${path}/add`, { ids, embeddings: ids.map((_, i) => [i]) });
      const ask = (nodes: number): object => ({
        rank: {
          $sum: [{ $knn: { query: [0], limit: RECORDS } }, ...numbers(nodes - 2).map(() => ({ $val: 0.1 }))],
        },
        explain: true,
      });
      const most = LIMITS.traceNodes / RECORDS;
      const { value } = await stage.unharmed(WITHIN_MIB, () => search(path, ask(most)));
      expect(value.traces[0]).toHaveLength(RECORDS);
      await stage.unharmed(WITHIN_MIB, () => isTooLarge(path, ask(most + 1)));
    },
    MOST_MS,
  );

  it(
    "of a million terms are made while others are answered, and no more",
    async () => {
      const config = { enabled: true, config: {} };
      const schema = { keys: { words: { sparse_vector: { sparse_vector_index: config } } } };
      const path = await stage.attacker.createCollection("terms", { schema });
      const indices = numbers(TERMS);
      const vector = (weight: number): object => ({ indices, values: indices.map(() => weight) });
      for (const i of numbers(LONG_VECTORS)) {
        const words = { "#type": "sparse_vector", ...vector(0.5 + i) };
        const record = { ids: [`r${i}`], embeddings: [[i]], metadatas: [{ words }] };
        await stage.attacker.expect(201, `${path}/add`, record);
      }
      const ask = (limit: number): object => ({
        rank: { $knn: { query: vector(0.001), key: "words", limit } },
        explain: true,
      });
      const most = LONG_VECTORS - 3;
      const { value } = await stage.unharmed(WITHIN_MIB, () => search(path, ask(most)));
      expect(value.traces[0]!.map(({ terms }) => terms?.length)).toEqual(numbers(most).map(() => TERMS));
      await stage.unharmed(WITHIN_MIB, () => isTooLarge(path, ask(LONG_VECTORS)));
    },
    MOST_MS,
  );

  it(
    "of a hundred absences go through long documents while others are answered",
    async () => {
      const path = await stage.attacker.createCollection("absences");
      const ids = numbers(LIMITS.explainedIds).map((i) => `r${i}`);
      const record = {
        ids,
        embeddings: ids.map((_, i) => [i]),
        documents: ids.map(() => "x".repeat(DOCUMENT_CHARACTERS)),
      };
      await stage.attacker.expect(201, `${path}/add`, record);
      // Two characters are too few to know without reading that no document has them.
      const clauses = numbers(CLAUSES).map(() => ({ "#document": { $not_contains: "yz" } }));
      const where = { $and: [...clauses, { "#document": { $regex: "y[0-9]" } }] };
      const { value } = await stage.unharmed(WITHIN_MIB, () => search(path, { where, explain: { ids } }));
      const found = { reason: "filtered", path: `where.$and[${CLAUSES}].#document` };
      expect(value.why_not).toEqual([ids.map((id) => ({ id, ...found }))]);
      const named = { explain: { ids: [...ids, "one more"] } };
      expect((await stage.attacker.send(`${path}/search`, { searches: [named] })).status).toBe(400);
    },
    MOST_MS,
  );
});

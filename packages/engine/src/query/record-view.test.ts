import { setTimeout } from "node:timers/promises";
import type { IndexPlan } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { randomOf } from "../segment/dense/testing/data-sets.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import { distance, prepare } from "../kernels/distance.ts";
import { QueryDistance } from "../kernels/value-memory.ts";
import type { ReadTicket } from "../storage/version-history.ts";
import { RecordView, StaleSnapshot } from "./record-view.ts";
import { TestCollection } from "./testing/test-collection.ts";

const PLAN: IndexPlan = { space: "cosine", embeddingFunction: null, sparse: [] };
const random = randomOf(5);
const VECTOR = Float32Array.from({ length: 4 }, random);
const QUERY = new QueryDistance("cosine", prepare("cosine", VECTOR));

/** The vectors of its first segment are in the store alone. */
async function newCollection(): Promise<TestCollection> {
  const collection = new TestCollection(PLAN, { denseRows: 100 });
  for (let i = 0; i < BLOCK_DOCS; i++) collection.put(`r${i}`, content(i));
  while (collection.index.isBuilding) await setTimeout(1);
  return collection;
}

function content(i: number) {
  const embedding = Float32Array.from({ length: 4 }, random);
  return { embedding, document: `document ${i}`, uri: null, metadata: null };
}

describe("RecordView", () => {
  it("reads a record and its distance at once where it is told to, and shows both as they are", async () => {
    const collection = await newCollection();
    for (const ahead of [0, 3, 10]) {
      const view = new RecordView(collection.index.snapshot(), collection, null);
      view.readAhead(ahead);
      const before = collection.reads;
      for (let position = 0; position < 5; position++) {
        const { embedding, ...rest } = collection.records[position] ?? expect.fail("no record");
        expect(view.distance(position, QUERY)).toBe(distance("cosine", VECTOR, embedding));
        expect(view.read(position)).toMatchObject(rest);
        expect(view.readInSteps(position, true)).toMatchObject({ embedding });
      }
      // Each is read whole once more, for its vector.
      expect(collection.reads - before).toBe(10);
    }
    collection.index.close();
  });

  it("refuses what changed after the snapshot, and shows what it was where that is kept", async () => {
    const collection = await newCollection();
    const before = collection.records[7] ?? expect.fail("no record");
    const viewed = (ticket: ReadTicket | null): RecordView => {
      const made = new RecordView(collection.index.snapshot(), collection, ticket);
      made.readAhead(2);
      return made;
    };
    const ticket = await collection.versions.open();
    collection.store("r7", content(77));
    expect(() => viewed(null).distance(7, QUERY)).toThrow(StaleSnapshot);
    expect(() => viewed(null).read(7)).toThrow(StaleSnapshot);
    const kept = viewed(ticket);
    expect(kept.distance(7, QUERY)).toBe(distance("cosine", VECTOR, before.embedding));
    expect(kept.read(7).document).toBe("document 7");
    expect(kept.readInSteps(7, true)).toStrictEqual(before);
    ticket.close();
    collection.index.close();
  });
});

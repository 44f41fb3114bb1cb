import {
  type CommitOperation,
  type Metadata,
  type MetadataPatch,
  type WriteKind,
  type WriteRecord,
  fromDocumentText,
  invalid,
} from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryRecordStore } from "../storage/memory-record-store.ts";
import { planOperations, planRemove, planWrite } from "./plan-write.ts";
import { runSteps } from "../storage/steps.ts";

interface Plain {
  embedding: number;
  document: string | null;
  uri: string | null;
  metadata: Record<string, bigint>;
}

type Operation =
  | { readonly type: "write"; readonly kind: WriteKind; readonly records: readonly WriteRecord[] }
  | { readonly type: "remove"; readonly ids: readonly string[] };

/** The rules once more, one record at a time on plain objects; a map keeps insertion order as the store does. */
function applyPlainly(state: Map<string, Plain>, operation: Operation): void {
  if (operation.type === "remove") {
    for (const id of operation.ids) state.delete(id);
    return;
  }
  for (const { id, embedding, document, uri, metadata } of operation.records) {
    const known = state.get(id);
    if (known !== undefined ? operation.kind === "add" : operation.kind === "update") continue;
    const plain = known ?? { embedding: 0, document: null, uri: null, metadata: {} };
    if (embedding !== null) plain.embedding = embedding[0] ?? Number.NaN;
    if (document !== null) plain.document = fromDocumentText(document);
    if (uri !== null) plain.uri = uri;
    for (const [key, value] of metadata ?? []) {
      if (value === null) delete plain.metadata[key];
      else plain.metadata[key] = value as bigint;
    }
    state.set(id, plain);
  }
}

function plainMetadata(metadata: Metadata | null): Record<string, unknown> {
  return Object.fromEntries(metadata ?? []);
}

const id = fc.constantFrom("a", "b", "c", "d", "e");
const patch: fc.Arbitrary<MetadataPatch> = fc
  .array(fc.tuple(fc.constantFrom("k", "l", "m"), fc.option(fc.bigInt(0n, 9n))), { maxLength: 3 })
  .map((entries) => new Map(entries));
const writeRecord: fc.Arbitrary<WriteRecord> = fc.record({
  id,
  embedding: fc.nat(100).map((x) => Float32Array.of(x)),
  document: fc.option(fc.string({ maxLength: 3 })),
  uri: fc.option(fc.string({ maxLength: 3 })),
  metadata: fc.option(patch),
});
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    type: fc.constant("write" as const),
    kind: fc.constantFrom<WriteKind>("add", "update", "upsert"),
    records: fc.array(writeRecord, { maxLength: 6 }),
  }),
  fc.record({ type: fc.constant("remove" as const), ids: fc.array(id, { maxLength: 3 }) }),
);

describe("plan of a write", () => {
  it("does what the rules say, whatever came before", async () => {
    const property = fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
      const store = new MemoryRecordStore();
      const model = new Map<string, Plain>();
      for (const next of operations) {
        await store.apply((view) =>
          next.type === "write" ? planWrite(view, next) : planRemove(view, next.ids),
        );
        applyPlainly(model, next);
      }
      expect(contents(store)).toEqual([...model]);
    });
    await fc.assert(property, { numRuns: 500 });
  });

  it("does the same with several operations in one batch, and remembers what they removed", async () => {
    const batches = fc.array(fc.array(operation, { maxLength: 8 }), { maxLength: 4 });
    const property = fc.asyncProperty(batches, async (all) => {
      const store = new MemoryRecordStore();
      const model = new Map<string, Plain>();
      for (const batch of all) {
        const before = new Set(model.keys());
        const { sequence } = store.head;
        await store.apply((view) => planOperations(view, batch.map(asCommitOperation)));
        for (const next of batch) applyPlainly(model, next);
        const gone = [...before].filter((id) => !model.has(id));
        expect([...store.removedAfter(sequence)]).toEqual(expect.arrayContaining(gone));
      }
      expect(contents(store)).toEqual([...model]);
    });
    await fc.assert(property, { numRuns: 500 });
  });

  it("names the operation that lacks an embedding", () => {
    const records = [{ ...recordOf("a"), embedding: null }];
    const operations = [{ kind: "delete", ids: ["a"] } as const, { kind: "add", records } as const];
    expect(() => runSteps(planOperations(new MemoryRecordStore(), operations))).toThrow(
      "operations[1].payload.ids[0]: ",
    );
  });

  it.each<WriteKind>(["add", "update", "upsert"])(
    "names the embedding of another dimension: %s",
    async (kind) => {
      const store = new MemoryRecordStore();
      const known = [recordOf("a"), recordOf("b")];
      await store.apply((view) => planWrite(view, { kind: "add", records: known }));
      const wrong = { ...recordOf(kind === "update" ? "b" : "c"), embedding: Float32Array.of(1, 2, 3) };
      const write = { kind, records: [recordOf("a"), wrong] };
      const problem = "Collection expecting embedding with dimension of 1, got 3";
      expect(() => runSteps(planWrite(store, write))).toThrow(invalid("embeddings[1]", problem));
      expect(() => runSteps(planOperations(store, [write]))).toThrow(
        invalid("operations[0].payload.embeddings[1]", problem),
      );
    },
  );

  it("refuses an update of few bytes that changes more than a write may", async () => {
    const store = new MemoryRecordStore();
    const numbers = new Float64Array(4 * 2 ** 20);
    const ids = Array.from({ length: 11 }, (_, i) => String(i));
    for (const name of ids) {
      const records = [{ ...recordOf(name), metadata: new Map([["n", numbers]]) }];
      await store.apply((view) => planWrite(view, { kind: "add", records }));
    }
    const update = (count: number) => {
      const records = ids
        .slice(0, count)
        .map((name) => ({ ...recordOf(name), embedding: null, metadata: new Map([["x", 1]]) }));
      return store.apply((view) => planWrite(view, { kind: "update", records }));
    };
    await update(9);
    await expect(update(11)).rejects.toMatchObject({
      status: 413,
      message: expect.stringMatching(/^ids\[9\]: /),
    });
    expect(store.find("10")?.metadata?.has("x")).toBe(false);
  });

  it("counts every submitted record as an operation, and every removed one", async () => {
    const store = new MemoryRecordStore();
    const records = ["a", "a", "b"].map((name) => recordOf(name));
    await store.apply((view) => planWrite(view, { kind: "add", records }));
    expect(store.head).toMatchObject({ sequence: 3, nextOffset: 2 });
    await store.apply((view) => planRemove(view, ["a", "nobody"]));
    expect(store.head).toMatchObject({ sequence: 4, nextOffset: 2 });
  });

  it("keeps no view of the message a sparse vector came in", async () => {
    const message = new ArrayBuffer(1_000);
    const vector = {
      indices: new Uint32Array(message, 8, 2).fill(1),
      values: new Float32Array(message, 16, 2),
    };
    const records = [{ ...recordOf("a"), metadata: new Map([["s", vector]]) }];
    const store = new MemoryRecordStore();
    const { puts } = await store.apply((view) => planWrite(view, { kind: "add", records }));
    expect(puts[0]?.metadata?.get("s")).toEqual(vector);
    expect(puts[0]?.metadata?.get("s")).toHaveProperty("indices.buffer.byteLength", 8);
  });
});

/** What stands in the store, in the form of the model. */
function contents(store: MemoryRecordStore): unknown[] {
  return [...store.scan(0)].map(({ id, embedding, document, uri, metadata }) => [
    id,
    { embedding: embedding[0], document, uri, metadata: plainMetadata(metadata) },
  ]);
}

function asCommitOperation(operation: Operation): CommitOperation {
  return operation.type === "remove"
    ? { kind: "delete", ids: operation.ids }
    : { kind: operation.kind, records: operation.records };
}

function recordOf(name: string): WriteRecord {
  return { id: name, embedding: Float32Array.of(1), document: null, uri: null, metadata: null };
}

import {
  type JsonObject,
  type MetadataPatch,
  type RecordChunk,
  type WriteKind,
  type WriteRecord,
  parentOf,
} from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryRecordStore } from "../../storage/memory-record-store.ts";
import { runSteps } from "../../storage/steps.ts";
import { planOperations, planRemove, planWrite } from "../plan-write.ts";

const sparse = { enabled: true, config: { source_key: "#document", embedding_function: { type: "legacy" } } };
const SCHEMA: JsonObject = {
  keys: { terms: { sparse_vector: { sparse_vector_index: sparse } } },
  chunking: { by: "none" },
};

function chunk(start: number, text: string, metadata: RecordChunk["metadata"] = null): RecordChunk {
  return { start, end: start + text.length, embedding: Float32Array.of(start), document: text, metadata };
}

const NOTHING = { embedding: null, document: null, uri: null, metadata: null };

function cut(id: string, texts: readonly string[], fields: Partial<WriteRecord> = {}): WriteRecord {
  let start = 0;
  const chunks = texts.map((text) => chunk((start += text.length) - text.length, text));
  return { id, ...NOTHING, chunks, ...fields };
}

async function write(store: MemoryRecordStore, kind: WriteKind, ...records: WriteRecord[]): Promise<void> {
  await store.apply((view) => planWrite(view, { kind, records }, SCHEMA));
}

async function remove(store: MemoryRecordStore, ...ids: string[]): Promise<void> {
  await store.apply((view) => planRemove(view, ids, SCHEMA));
}

/** Id -> text and metadata. */
function contents(store: MemoryRecordStore): Record<string, unknown> {
  return Object.fromEntries(
    [...store.scan(0)].map(({ id, document, metadata, uri }) => [
      id,
      [document, Object.fromEntries(metadata ?? []), ...(uri === null ? [] : [uri])],
    ]),
  );
}

const of = (parent: string, start: bigint, end: bigint, more = {}): object => ({
  parent,
  start,
  end,
  ...more,
});

describe("documents that are cut", () => {
  it("are replaced whole: what the new text has fewer of is gone in the same batch", async () => {
    const store = new MemoryRecordStore();
    await write(store, "add", cut("x", ["ab", "c", "def"], { uri: "u", metadata: new Map([["year", 1n]]) }));
    expect(contents(store)).toEqual({
      "x#0": ["ab", of("x", 0n, 2n, { year: 1n }), "u"],
      "x#1": ["c", of("x", 2n, 3n, { year: 1n }), "u"],
      "x#2": ["def", of("x", 3n, 6n, { year: 1n }), "u"],
    });
    const request = {
      kind: "upsert" as const,
      records: [cut("x", ["new"], { metadata: new Map([["k", 2n]]) })],
    };
    const change = await store.apply((view) => planWrite(view, request, SCHEMA));
    expect(change.removes.map(({ id }) => id)).toEqual(["x#1", "x#2"]);
    // What the document had stays, as that of any record does.
    expect(contents(store)).toEqual({ "x#0": ["new", of("x", 0n, 3n, { year: 1n, k: 2n }), "u"] });
    await write(store, "update", cut("x", ["1", "2"]), cut("nobody", ["3"]));
    expect(Object.keys(contents(store))).toEqual(["x#0", "x#1"]);
    expect(contents(store)["x#1"]).toEqual(["2", of("x", 1n, 2n, { year: 1n, k: 2n }), "u"]);
    await write(store, "add", cut("x", ["a", "b", "c", "d"]));
    expect(Object.keys(contents(store))).toEqual(["x#0", "x#1"]);
  });

  it("change as one and go as one", async () => {
    const store = new MemoryRecordStore();
    await write(store, "upsert", cut("x", ["a", "b"]), cut("x#z", ["c"]), cut("y", ["d"]));
    await write(store, "update", { id: "x", ...NOTHING, uri: "u", metadata: new Map([["k", 1n]]) });
    expect(contents(store)).toEqual({
      "x#0": ["a", of("x", 0n, 1n, { k: 1n }), "u"],
      "x#1": ["b", of("x", 1n, 2n, { k: 1n }), "u"],
      "x#z#0": ["c", of("x#z", 0n, 1n)],
      "y#0": ["d", of("y", 0n, 1n)],
    });
    await remove(store, "x", "nobody");
    expect(Object.keys(contents(store))).toEqual(["x#z#0", "y#0"]);
    await write(store, "update", { id: "x", ...NOTHING, metadata: new Map([["k", 1n]]) });
    expect(Object.keys(contents(store))).toEqual(["x#z#0", "y#0"]);
  });

  it("leave nothing behind where single chunks were deleted", async () => {
    const store = new MemoryRecordStore();
    await write(store, "add", cut("x", ["a", "b", "c", "d"], { metadata: new Map([["k", 1n]]) }));
    await remove(store, "x#0", "x#2");
    await write(store, "upsert", cut("x", ["new"]));
    expect(contents(store)).toEqual({ "x#0": ["new", of("x", 0n, 3n, { k: 1n })] });
  });

  it("take the place of a whole record, and give it back", async () => {
    const store = new MemoryRecordStore();
    const whole = { id: "x", ...NOTHING, embedding: Float32Array.of(1), metadata: new Map([["k", 1n]]) };
    await write(store, "add", whole);
    await write(store, "add", cut("x", ["ignored"]));
    expect(Object.keys(contents(store))).toEqual(["x"]);
    await write(store, "upsert", cut("x", ["a", "b"]));
    expect(contents(store)).toEqual({
      "x#0": ["a", of("x", 0n, 1n, { k: 1n })],
      "x#1": ["b", of("x", 1n, 2n, { k: 1n })],
    });
    await write(store, "upsert", { ...whole, document: "whole", metadata: null });
    expect(contents(store)).toEqual({ x: ["whole", { k: 1n }] });
  });

  it("do not hand vectors of one chunk to another", async () => {
    const store = new MemoryRecordStore();
    const terms = { indices: Uint32Array.of(1), values: Float32Array.of(1) };
    const chunks = [chunk(0, "a", new Map([["terms", terms]])), chunk(1, "b")];
    await write(store, "add", { id: "x", ...NOTHING, chunks });
    expect(store.find("x#1")?.metadata?.has("terms")).toBe(false);
    await write(store, "upsert", cut("x", ["a"]));
    expect(store.find("x#0")?.metadata?.has("terms")).toBe(false);
  });

  it.each<[string, WriteRecord[], string]>([
    ["a record of a caller where a chunk would be", [cut("own", ["a", "b"])], ": a chunk of the document"],
    [
      "a write of a chunk alone",
      [{ id: "x#0", ...NOTHING, metadata: new Map([["k", 1n]]) }],
      "is a chunk of",
    ],
    [
      "an embedding of a document that is cut",
      [{ id: "x", ...NOTHING, embedding: Float32Array.of(1) }],
      "is cut into",
    ],
    ["a text of it that nothing was made of", [{ id: "x", ...NOTHING, document: "text" }], "is cut into"],
  ])("refuse with 409, and change nothing: %s", async (_, records, problem) => {
    const store = new MemoryRecordStore();
    await write(store, "add", cut("x", ["a", "b"]));
    await write(store, "add", {
      id: "own#1",
      ...NOTHING,
      embedding: Float32Array.of(1),
      metadata: new Map([["parent", "other"]]),
    });
    const before = contents(store);
    for (const kind of ["upsert", "update"] as const) {
      if (kind === "update" && records[0]?.id === "own") continue;
      await expect(write(store, kind, cut("x", ["new"]), ...records)).rejects.toMatchObject({
        status: 409,
        message: expect.stringContaining(problem),
      });
    }
    expect(contents(store)).toEqual(before);
  });

  it.each(["parent", "start", "end"])("refuse metadata that is the server's: %s", async (key) => {
    const store = new MemoryRecordStore();
    await write(store, "add", cut("x", ["a"]));
    const metadata = new Map([[key, "mine"]]);
    const message = `ids[0].metadata.${key}: is the server's in the chunks of a document; use another key`;
    for (const record of [cut("x", ["b"], { metadata }), { id: "x", ...NOTHING, metadata }])
      await expect(write(store, "update", record)).rejects.toMatchObject({ status: 400, message });
  });

  it("let a chunk be written by whoever names its document, as an import does", async () => {
    const store = new MemoryRecordStore();
    await write(store, "add", cut("x", ["a", "b"]));
    const metadata: MetadataPatch = new Map<string, string | bigint>([
      ["parent", "x"],
      ["start", 1n],
      ["end", 2n],
    ]);
    await write(store, "upsert", {
      id: "x#1",
      embedding: Float32Array.of(9),
      document: "B",
      uri: null,
      metadata,
    });
    expect(contents(store)["x#1"]).toEqual(["B", of("x", 1n, 2n)]);
    await remove(store, "x");
    expect(contents(store)).toEqual({});
  });

  it("are as a model of them says, whatever is written, deleted and committed together", async () => {
    const id = fc.constantFrom("a", "b", "a#", "c");
    const texts = fc.array(fc.constantFrom("x", "yy", "zzz"), { minLength: 1, maxLength: 5 });
    const operation = fc.oneof(
      fc.record({
        kind: fc.constantFrom<WriteKind[]>("add", "update", "upsert"),
        id,
        texts,
        k: fc.option(fc.bigInt(0n, 3n)),
      }),
      fc.record({ kind: fc.constant("patch" as const), id, k: fc.bigInt(0n, 3n) }),
      fc.record({ kind: fc.constant("delete" as const), id }),
    );
    type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
    const patchOf = (k: bigint | null): MetadataPatch | null => (k === null ? null : new Map([["k", k]]));
    const toCommit = (op: Operation) => {
      if (op.kind === "delete") return { kind: "delete" as const, ids: [op.id] };
      if (op.kind === "patch")
        return { kind: "update" as const, records: [{ id: op.id, ...NOTHING, metadata: patchOf(op.k) }] };
      return { kind: op.kind, records: [cut(op.id, op.texts, { metadata: patchOf(op.k) })] };
    };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(operation, { maxLength: 4 }), { maxLength: 6 }), async (batches) => {
        const store = new MemoryRecordStore();
        const model = new Map<string, { texts: readonly string[]; k: bigint | null }>();
        for (const batch of batches) {
          await store.apply((view) => planOperations(view, batch.map(toCommit), SCHEMA));
          for (const op of batch) {
            const known = model.get(op.id);
            if (op.kind === "delete") model.delete(op.id);
            else if (op.kind === "patch") {
              if (known !== undefined) known.k = op.k;
            } else if (op.kind === "add" ? known === undefined : op.kind === "upsert" || known !== undefined)
              model.set(op.id, { texts: op.texts, k: op.k ?? known?.k ?? null });
          }
        }
        const records = [...store.scan(0)];
        for (const { id: chunkId, metadata } of records)
          expect(model.has(parentOf(chunkId, metadata) ?? "")).toBe(true);
        for (const [parent, { texts: expected, k }] of model) {
          const chunks = records.filter(({ id: of, metadata }) => parentOf(of, metadata) === parent);
          const sorted = chunks.sort(
            (a, b) => Number(a.metadata!.get("start")) - Number(b.metadata!.get("start")),
          );
          expect(sorted.map(({ document }) => document)).toEqual(expected);
          expect(sorted.map(({ id: of }) => of)).toEqual(expected.map((_, i) => `${parent}#${i}`));
          for (const { metadata } of sorted) expect(metadata!.get("k") ?? null).toBe(k);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("have no id that a chunk could have", async () => {
    const message = expect.stringContaining("ids[0]: a document that is cut cannot have an id");
    for (const id of ["x#0", "a#b#12"])
      await expect(write(new MemoryRecordStore(), "add", cut(id, ["a"]))).rejects.toMatchObject({
        status: 400,
        message,
      });
    await write(new MemoryRecordStore(), "add", cut("x#01", ["a"]), cut("#", ["a"]), cut("x#-1", ["a"]));
  });

  it("leave their chunks within the limits of ids and metadata keys", async () => {
    const store = new MemoryRecordStore();
    const keys = (count: number, from = 0): MetadataPatch =>
      new Map(Array.from({ length: count }, (_, i) => [`k${from + i}`, 1n]));
    const refused = async (record: WriteRecord, message: string): Promise<void> =>
      expect(write(store, "upsert", record)).rejects.toMatchObject({ status: 400, message });
    const id = "é".repeat(253);
    await refused(
      cut(`${id}xx`, ["a"]),
      "ids[0]: a document that is cut cannot have an id of over 507 bytes: ids of its chunks take up to 5 more, and 512 is the limit",
    );
    await refused(
      cut("x", ["a"], { metadata: keys(1022) }),
      "ids[0].metadata: holds 1022 keys, the limit of a document that is cut is 1021",
    );
    await write(store, "upsert", cut(`${id}x`, ["a"], { metadata: keys(1021) }));
    const message =
      "ids[0].metadata: a chunk of the document would hold 1025 keys, among them `parent`, `start` and `end`; the limit is 1024";
    await refused({ id: `${id}x`, ...NOTHING, metadata: keys(1, 2000) }, message);
    await refused(cut(`${id}x`, ["b"], { metadata: keys(1, 2000) }), message);
    const swapped = new Map([...keys(1, 2000), ["k0", null]]) as MetadataPatch;
    await write(store, "upsert", { id: `${id}x`, ...NOTHING, metadata: swapped });
    expect(store.find(`${id}x#0`)?.metadata?.size).toBe(1024);
  });

  it("are refused before they multiply what they were written with beyond its bound", async () => {
    const store = new MemoryRecordStore();
    const texts = Array.from({ length: 100 }, () => "a");
    const metadata = new Map([["big", "x".repeat(900_000)]]);
    const refusal = {
      status: 413,
      message: expect.stringContaining("ids[0]: with metadata and URI in each of the 100 chunks"),
    };
    await expect(write(store, "add", cut("x", texts, { metadata }))).rejects.toMatchObject(refusal);
    await write(store, "add", cut("x", texts), cut("y", texts));
    await expect(write(store, "update", { id: "x", ...NOTHING, metadata })).rejects.toMatchObject(refusal);
    // Documents of one write count together.
    const half = new Map([["big", "x".repeat(400_000)]]);
    const [x, y] = ["x", "y"].map((id) => ({ id, ...NOTHING, metadata: half }));
    await write(store, "update", x!);
    await expect(write(store, "update", x!, y!)).rejects.toMatchObject({
      status: 413,
      message: expect.stringContaining("ids[1]"),
    });
    expect(store.find("y#0")?.metadata?.has("big")).toBe(false);
  });

  it("count every put and every removal as an operation of its own", async () => {
    const store = new MemoryRecordStore();
    await write(store, "add", cut("x", ["a", "b", "c"]));
    const { puts, removes, head } = runSteps(
      planWrite(store, { kind: "upsert", records: [cut("x", ["a"])] }, SCHEMA),
    );
    const sequences = [...puts, ...removes].map(({ sequence }) => sequence);
    expect(new Set(sequences).size).toBe(3);
    expect(head.sequence).toBe(Math.max(...sequences));
  });
});

/** Bounds of what a write brings, and of conditional commits. */
import type { LimitName, WriteRecord } from "@sheaf/protocol";
import { planWrite } from "../../../packages/engine/src/collection/plan-write.ts";
import { MemoryRecordStore } from "../../../packages/engine/src/storage/memory-record-store.ts";
import { metadataBytes, recordBytes } from "../../../packages/engine/src/storage/values/record-bytes.ts";
import { COLLECTIONS } from "../../../packages/server/src/testing/test-app.ts";
import {
  type Bench,
  type CaseOf,
  type Outcome,
  bySize,
  called,
  outcomeOf,
  times,
  toCollection,
} from "./limit-case.ts";

const ONE = { ids: ["a"], embeddings: [[1, 2]] };

export const RECORD_CASES = {
  changedBytes: bySize((_bench, size) => {
    const records = recordsOfBytes(size);
    return called(() => new MemoryRecordStore().apply((view) => planWrite(view, { kind: "add", records })));
  }, /^ids\[9\]: /u),
  dimensions: toCollection("add", /^embeddings\[0\]/u, (size) => ({
    ids: ["a"],
    embeddings: [times(size, () => 1)],
  })),
  sparseNonZeros: toCollection("upsert", /^metadatas\[0\]\.sparse/u, (size) => ({
    ...ONE,
    metadatas: [{ sparse: { indices: times(size, (i) => i), values: times(size, () => 1) } }],
  })),
  recordsPerWrite: toCollection("update", /^ids/u, (size) => ({ ids: times(size, (i) => `r${i}`) })),
  advertisedBatchSize: toCollection("add", /$/u, (size) => ({
    ids: times(size, (i) => `r${i}`),
    embeddings: times(size, (i) => [i, 1]),
  })),
  idBytes: toCollection("add", /^ids\[0\]/u, (size) => ({ ...ONE, ids: ["x".repeat(size)] })),
  metadataKeys: toCollection("upsert", /^metadatas\[0\]/u, (size) =>
    withMetadata(Object.fromEntries(times(size, (i) => [`key-${i}`, true]))),
  ),
  metadataKeyBytes: toCollection("upsert", /^metadatas\[0\]/u, (size) =>
    withMetadata({ ["k".repeat(size)]: 1 }),
  ),
  metadataValueBytes: toCollection("upsert", /^metadatas\[0\]\.text/u, (size) =>
    withMetadata({ text: "x".repeat(size) }),
  ),
  documentBytes: toCollection("add", /^documents\[0\]/u, (size) => ({
    ...ONE,
    documents: ["x".repeat(size)],
  })),
  uriBytes: toCollection("add", /^uris\[0\]/u, (size) => ({ ...ONE, uris: ["x".repeat(size)] })),
  chunkTokensMin: bySize(
    (bench, size) => cutting(bench, "a", { by: "tokens", size }),
    /^chunking\.size/u,
    -1,
  ),
  chunkTokens: bySize((bench, size) => cutting(bench, "a", { by: "tokens", size }), /^chunking\.size/u),
  chunksPerDocument: bySize(
    (bench, size) => cutting(bench, "# a\nb\n".repeat(size), { by: "headings" }),
    /^document of record "x" \(ids\[0\]\)/u,
  ),
  copiedBytes: bySize((_bench, size) => {
    const record = documentOfCopies(size);
    return called(() =>
      new MemoryRecordStore().apply((view) => planWrite(view, { kind: "add", records: [record] })),
    );
  }, /^ids\[0\]: with metadata and URI in each of the 8 chunks/u),
  operationsPerCommit: toCollection("conditional/commit", /^operations/u, (size) => ({
    operations: times(size, () => ({ operation: "delete", payload: { ids: ["none"] } })),
  })),
  readIdsPerCommit: bySize(async (bench, size) => {
    const path = await bench.collection();
    return commit(bench, path, {
      read_token: await readToken(bench, path),
      read_ids: times(size, (i) => `r${i}`),
    });
  }, /^read_ids/u),
  // More than share a file.
  trackedOperations: bySize((bench, size) => afterOperations(bench, size, 2_001), /token/u),
  // Old ones are forgotten some hundreds at a time.
  trackedOperationsOfSmall: bySize((bench, size) => afterOperations(bench, size, 1), /token/u, 600),
} satisfies { readonly [name in LimitName]?: CaseOf };

/** A commit after so many operations since its read, in a collection of so many records. */
async function afterOperations(bench: Bench, operations: number, records: number): Promise<Outcome> {
  const path = await bench.collection();
  const add = (ids: readonly string[]): Promise<unknown> =>
    bench.ask(`POST ${path}/add`, { json: { ids, embeddings: ids.map(() => [1, 2]) } });
  await add(times(records, (i) => `r${i}`));
  const token = await readToken(bench, path);
  // A write that may make it larger than a shared file takes has it moved first.
  const most = records === 1 ? 1_000 : 100_000;
  for (let left = operations; left > 0; left -= most) await add(times(Math.min(left, most), () => "r0"));
  return commit(bench, path, { read_token: token, read_ids: ["r0"] });
}

/** Ten, as a body of that size could not bring them. */
/** A document to a collection that embeds. */
async function cutting(bench: Bench, document: string, chunking: object): Promise<Outcome> {
  const json = {
    name: "cut",
    get_or_create: true,
    configuration: { embedding_function: { type: "known", name: "default", config: {} } },
  };
  const { id } = await bench.ask<{ id: string }>(`POST ${COLLECTIONS}`, { json });
  return bench.send(`POST ${COLLECTIONS}/${id}/upsert`, {
    json: { ids: ["x"], documents: [document], chunking },
  });
}

/** A document whose eight chunks get so much of it. */
function documentOfCopies(size: number): WriteRecord {
  const metadata = new Map([["k", ""]]);
  metadata.set("k", "x".repeat(Math.ceil((size / 8 - metadataBytes(metadata)) / 2)));
  const chunks = times(8, (start) => ({
    ...{ start, end: start + 1, embedding: new Float32Array(2), document: "a", metadata: null },
  }));
  return { id: "x", embedding: null, document: null, uri: null, metadata, chunks };
}

function recordsOfBytes(size: number): WriteRecord[] {
  const make = (i: number, document: string): WriteRecord => {
    return { id: String(i), embedding: new Float32Array(2), document, uri: null, metadata: null };
  };
  const document = "x".repeat(32_000_000);
  const records = times(9, (i) => make(i, document));
  const left = [...records, make(9, "")].reduce(
    (rest, record) => rest - recordBytes({ ...record, metadata: null }),
    size,
  );
  return [...records, make(9, "x".repeat(Math.ceil(left / 2)))];
}

function withMetadata(metadata: object): object {
  return { ...ONE, metadatas: [metadata] };
}

async function readToken(bench: Bench, path: string): Promise<number> {
  return (await bench.ask<{ read_token: number }>(`POST ${path}/conditional/get`, { json: {} })).read_token;
}

async function commit(bench: Bench, path: string, body: object): Promise<Outcome> {
  const operations = [{ operation: "upsert", payload: ONE }];
  const answer = await (
    await bench.app()
  ).ask(`POST ${path}/conditional/commit`, { json: { ...body, operations } });
  return outcomeOf(answer.status, answer.body);
}

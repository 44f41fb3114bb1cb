/**
 * A small collection with all that index files can have in them, and questions whose answers need most of it. In memory,
 * so that it can be opened some tens of thousands of times.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  Cancellation,
  type Metadata,
  type Search,
  type Where,
  type WriteRecord,
  integerArray,
  parseCreateCollection,
} from "@sheaf/protocol";
import { DocumentMemory } from "../../../index/document-memory.ts";
import type { FileDelays } from "../../../index/files/index-files.ts";
import { RegexPool } from "../../../query/regex/regex-pool.ts";
import { StageTimes } from "../../../query/stage-times.ts";
import { recordsOf } from "../../../query/testing/records-of.ts";
import { SEARCH, knn } from "../../../query/testing/searches.ts";
import { MemoryFiles } from "../../../storage/files/memory-files.ts";
import type { SegmentFiles } from "../../../storage/files/segment-files.ts";
import { MemoryRecordStore } from "../../../storage/memory-record-store.ts";
import { AT, INCLUDE } from "../../../testing/engine-fixtures.ts";
import { OpenCollection } from "../../open-collection.ts";
import { OpeningProgress } from "../opening-progress.ts";

const LINEAGE = "0b5f4d0e-3a35-4c5e-8f0a-8d9a6c2f1e77";
const DIMENSION = 8;
const FIRST = 200;
const ROWS = 290;
const REMOVED = 30;
/** Segments of some 100 rows. So few records are compared exactly: codes are no part of their answers. */
const SIZES = { denseRows: 16, sizes: { mutableRows: 32, sealedRows: 128 } };
const NEVER = { sealedMs: 2 ** 30, writtenMs: 2 ** 30, retryMs: 2 ** 30 };
const AT_ONCE = { sealedMs: 1, writtenMs: 1, retryMs: 1 };

const SPARSE = { sparse_vector: { sparse_vector_index: { enabled: true, config: { bm25: true } } } };
const { schema: SCHEMA } = parseCreateCollection({ name: "swept", schema: { keys: { terms: SPARSE } } }, AT);

const regexes = new RegexPool().forTenant("a tenant");

function metadataOf(i: number): Metadata | null {
  if (i % 9 === 8) return null;
  const terms = { indices: Uint32Array.of(i % 5, 10 + (i % 7)), values: Float32Array.of(1, 1 + (i % 3)) };
  const metadata: [string, Metadata extends ReadonlyMap<string, infer V> ? V : never][] = [
    ["n", BigInt(i % 40)],
    ["part", i / 4],
    ["text", i % 24 === 0 ? `${"long ".repeat(60)}${i % 48}` : `t${i % 7}`],
    ["even", i % 2 === 0],
    ["list", integerArray([BigInt(i % 5), BigInt(i % 11)])],
    ["terms", terms],
  ];
  // One that too few rows hold for a column of its own.
  if (i === 17 || i === 200) metadata.push(["rare", `only ${i}`]);
  return new Map(metadata);
}

function recordOf(i: number): WriteRecord {
  return {
    id: `record ${i}`,
    embedding: Float32Array.from({ length: DIMENSION }, (_, j) => Math.sin(i * (j + 1) * 1.3)),
    document: i % 5 === 4 ? null : `fox number ${i} jumps over ${i % 13} dogs`,
    uri: i % 3 === 0 ? `file:///${i}` : null,
    metadata: metadataOf(i),
  };
}

const ALL_FIELDS = { document: true, embedding: true, metadata: true, score: true, fields: [], keys: [] };
const WHERES: readonly Where[] = [
  { type: "compare", key: "n", operator: "$eq", value: 7n },
  { type: "compare", key: "part", operator: "$lt", value: 9.5 },
  { type: "compare", key: "text", operator: "$ne", value: "t3" },
  { type: "compare", key: "text", operator: "$eq", value: `${"long ".repeat(60)}24` },
  { type: "compare", key: "rare", operator: "$eq", value: "only 200" },
  { type: "in", key: "n", negated: false, values: [1n, 2n, 39n] },
  { type: "contains", key: "list", negated: false, value: 10n },
  { type: "document_contains", negated: false, text: "over 12 dogs" },
  { type: "document_regex", negated: false, pattern: "number 1[0-9]* jumps" },
];

const query = Float32Array.from({ length: DIMENSION }, (_, j) => Math.cos(j));
const dense = { type: "dense", vector: query } as const;
const sparse = {
  type: "sparse",
  vector: { indices: Uint32Array.of(1, 12), values: Float32Array.of(1, 2) },
} as const;
const TOP = { operator: "$min_k", keys: ["#score"], k: 1 } as const;

const SEARCHES: readonly Search[] = [
  { ...SEARCH, select: ALL_FIELDS },
  { ...SEARCH, rank: knn({ query: dense, limit: 9 }), limit: 9, select: ALL_FIELDS },
  { ...SEARCH, rank: knn({ query: dense, limit: ROWS }), limit: ROWS },
  { ...SEARCH, rank: knn({ query: dense, limit: 9, exact: true }), limit: 9 },
  { ...SEARCH, rank: knn({ query: sparse, key: "terms", limit: 20 }), limit: 20 },
  { ...SEARCH, rank: knn({ query: dense, limit: 60 }), groupBy: { keys: ["text"], aggregate: TOP } },
  ...WHERES.map((where): Search => ({ ...SEARCH, where })),
  ...WHERES.map((where): Search => ({ ...SEARCH, where, rank: knn({ query: dense, limit: 5 }), limit: 5 })),
];

export interface Opened {
  readonly collection: OpenCollection;
  readonly problems: readonly unknown[];
}

export type Files = ReadonlyMap<string, Uint8Array>;

export class SweptCollection {
  /** As they were written last. */
  readonly files: Files;
  /** As they were once before: another manifest, and segments that were merged since. */
  readonly earlier: Files;
  readonly #store: MemoryRecordStore;

  private constructor(store: MemoryRecordStore, files: Files, earlier: Files) {
    this.#store = store;
    this.files = files;
    this.earlier = earlier;
  }

  static async make(): Promise<SweptCollection> {
    const store = new MemoryRecordStore();
    const disk = new Map<string, Uint8Array>();
    const { collection } = await openedOn(store, new MemoryFiles(disk), AT_ONCE);
    const add = (from: number, to: number): Promise<void> => {
      const records = Array.from({ length: to - from }, (_, i) => recordOf(from + i));
      return collection.write({ kind: "add", records });
    };
    await add(0, FIRST);
    await settled(disk);
    const earlier = new Map(disk);
    await add(FIRST, ROWS);
    await settled(disk);
    const ids = Array.from({ length: REMOVED }, (_, i) => `record ${i * 7}`);
    await collection.delete({ ids, where: null, limit: null }, new Cancellation(), new StageTimes());
    await collection.write({ kind: "upsert", records: [recordOf(1), recordOf(ROWS - 1)] });
    await settled(disk);
    await collection.close();
    return new SweptCollection(store, new Map(disk), earlier);
  }

  /** `null`: the index is made of the records. Nothing is written to files. */
  open(files: SegmentFiles | null): Promise<Opened> {
    return openedOn(this.#store, files, NEVER);
  }

  /**
   * To all questions; to be compared by `isDeepStrictEqual`, which tells numbers apart to the bit. What `serialize` writes of
   * a number depends on how V8 holds it, and so on what the process did before.
   */
  async answers(collection: OpenCollection): Promise<readonly unknown[]> {
    const signal = new Cancellation();
    const times = new StageTimes();
    const request = { searches: SEARCHES, readLevel: "index_and_wal" } as const;
    const found = await recordsOf(collection.reads.search(request, signal, times));
    const ids = ["record 3", `record ${ROWS - 1}`, "record 7", "nobody"];
    const page = { ids: null, where: null, limit: 50, offset: 70, include: INCLUDE };
    const named = await recordsOf(
      collection.reads.get({ ...page, ids, limit: null, offset: 0 }, signal, times),
    );
    const listed = await recordsOf(collection.reads.get(page, signal, times));
    const counts: number[] = [];
    for (const where of [null, ...WHERES])
      counts.push(await collection.reads.count({ ids: null, where }, signal, times));
    return [found, named, listed, counts];
  }
}

async function openedOn(
  store: MemoryRecordStore,
  files: SegmentFiles | null,
  delays: FileDelays,
): Promise<Opened> {
  const problems: unknown[] = [];
  const options = {
    ...{ store, schema: SCHEMA, dirty: false, tells: true },
    progress: new OpeningProgress(() => {}),
    log: () => {},
    copyTo: async () => {},
    usedBytes: () => 0,
    storedRecords: () => 0,
    ...{ tenant: "a tenant", regexes, documents: new DocumentMemory() },
    indexFiles: files === null ? undefined : { files, lineage: LINEAGE, delays },
    indexSizes: SIZES,
    advance: async () => {},
    markDirty: async () => {},
    onProblem: (error: unknown) => void problems.push(error),
    onWhole: () => {},
  };
  return { collection: await OpenCollection.open(options, new Cancellation()), problems };
}

/** Until a manifest stays the newest. */
async function settled(disk: Files): Promise<void> {
  for (let before = "", same = 0; same < 4;) {
    await sleep(500);
    const now = [...disk.keys()].toSorted().join();
    same = now.includes("manifest-") && now === before ? same + 1 : 0;
    before = now;
  }
}

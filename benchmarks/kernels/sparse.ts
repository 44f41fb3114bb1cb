/** The sparse index alone, one thread, beside bm25s over the same postings in the same run. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { IndexPlan, Search } from "@sheaf/protocol";
import { executeSearch } from "../../packages/engine/src/query/execute.ts";
import { TestCollection } from "../../packages/engine/src/query/testing/test-collection.ts";
import { median, sum } from "../measure/statistics.ts";
import { type PeerResult, runPythonPeer } from "../peers/python-peer.ts";
import { type SparseTerms, VOCABULARY, queryTerms, recordTerms } from "../search/workload/record-content.ts";

const K = 100;
const TURNS = 3;
const KEY = "terms";
const PLAN: IndexPlan = {
  space: "cosine",
  embeddingFunction: null,
  sparse: [{ key: KEY, bm25: false, sourceKey: null, embeddingFunction: null }],
};

export interface SparseFigures {
  readonly documents: number;
  /** Postings that the terms of one query have, on average. */
  readonly postings: number;
  readonly engineMs: number;
  /** Of the peer, and the share of its results that the engine gives too. */
  readonly bm25s: PeerResult<{ readonly version: string; readonly ms: number; readonly agreement: number }>;
}

/** Queries weigh every term alike, for bm25s knows nothing else. */
export async function measureSparse(documents: number, queries: number): Promise<SparseFigures> {
  const records = Array.from({ length: documents }, (_, row) => recordTerms(row));
  const asked = Array.from({ length: queries }, (_, query) => queryTerms(query).indices);
  const frequencies = new Uint32Array(VOCABULARY);
  for (const { indices } of records) for (const term of indices) frequencies[term]! += 1;
  const engine = await measureEngine(records, asked);
  const postings = sum(asked.map((terms) => sum(terms.map((term) => frequencies[term] ?? 0)))) / queries;
  return {
    documents,
    postings,
    engineMs: engine.ms,
    bm25s: await measurePeer(records, { asked, frequencies, found: engine.found }),
  };
}

type Terms = readonly (readonly number[])[];

async function measureEngine(
  records: readonly SparseTerms[],
  asked: Terms,
): Promise<{ ms: number; found: readonly (readonly string[])[] }> {
  const collection = new TestCollection(PLAN);
  for (const [row, { indices, values }] of records.entries()) {
    const terms = { indices: Uint32Array.from(indices), values: Float32Array.from(values) };
    const metadata = new Map([[KEY, terms]]);
    collection.put(String(row), { embedding: new Float32Array(1), document: null, uri: null, metadata });
  }
  while (collection.index.isBuilding) await sleep(20);
  const times: number[] = [];
  const found: string[][] = [];
  for (let turn = 0; turn <= TURNS; turn++) {
    for (const terms of asked) {
      const request = { searches: [searchFor(terms)], readLevel: "index_and_wal" } as const;
      const start = performance.now();
      const [hits = []] = (await executeSearch(collection.context, request)).first.lists;
      // The first turn is for the compiler.
      if (turn > 0) times.push(performance.now() - start);
      else found.push(hits.map(({ id }) => id));
    }
  }
  collection.index.close();
  return { ms: median(times), found };
}

function searchFor(terms: readonly number[]): Search {
  const indices = Uint32Array.from(terms);
  const vector = { indices, values: new Float32Array(indices.length).fill(1) };
  return {
    where: null,
    groupBy: null,
    offset: 0,
    limit: null,
    select: { document: false, embedding: false, metadata: false, score: true, fields: [], keys: [] },
    rank: {
      type: "knn",
      query: { type: "sparse", vector },
      key: KEY,
      limit: K,
      default: null,
      returnRank: false,
      exact: false,
      path: "rank",
    },
  };
}

interface PeerInput {
  readonly asked: Terms;
  readonly frequencies: Uint32Array;
  /** What the engine found. */
  readonly found: readonly (readonly string[])[];
}

async function measurePeer(
  records: readonly SparseTerms[],
  { asked, frequencies, found }: PeerInput,
): Promise<SparseFigures["bm25s"]> {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-bm25s-"));
  try {
    const lists = postingLists(records, frequencies);
    const files = Object.fromEntries(
      Object.entries(lists).map(([name, values]) => {
        writeFileSync(join(folder, name), values);
        return [name, join(folder, name)];
      }),
    );
    const job = { ...files, k: K, documents: records.length, queries: asked };
    const result = await runPythonPeer<{ version: string; ms: number; found: number[][] }>(
      "bm25s-peer",
      folder,
      job,
    );
    if ("problem" in result) return result;
    const { version, ms, found: theirs } = result.figures;
    const shared = theirs.map(
      (rows, query) => rows.filter((row) => found[query]?.includes(String(row))).length,
    );
    return { figures: { version, ms, agreement: sum(shared) / (K * asked.length) } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Term after term: where its postings start, their rows, their values. */
function postingLists(
  records: readonly SparseTerms[],
  frequencies: Uint32Array,
): Record<"starts" | "rows" | "values", Int32Array | Float32Array> {
  const starts = new Int32Array(VOCABULARY + 1);
  for (const [term, count] of frequencies.entries()) starts[term + 1] = (starts[term] ?? 0) + count;
  const next = starts.slice();
  const rows = new Int32Array(starts[VOCABULARY] ?? 0);
  const values = new Float32Array(rows.length);
  for (const [row, record] of records.entries()) {
    for (const [index, term] of record.indices.entries()) {
      const at = next[term]!++;
      rows[at] = row;
      values[at] = record.values[index] ?? 0;
    }
  }
  return { starts, rows, values };
}

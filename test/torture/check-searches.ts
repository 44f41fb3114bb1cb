/**
 * Holds searches to the engine's oracle: the records that `get` gives are searched in the plainest way, and ids, order
 * and 32-bit scores must be the same.
 */
import { type IndexPlan, type Metadata, type MetadataValue, parseSearchRequest } from "@sheaf/protocol";
import {
  type OracleCollection,
  oracleNearest,
  oracleSearch,
} from "../../packages/engine/src/query/testing/oracle.ts";
import type { StoredRecord } from "../../packages/engine/src/storage/stored-record.ts";
import type { Choices } from "./choices.ts";
import { type SeenCollection, ask } from "./observe.ts";
import { COLLECTIONS, SHARED } from "./routes.ts";
import { DIMENSION, TAGS, type TortureRecord } from "./torture-record.ts";
import type { Target } from "./tortured-server.ts";
import { Violation } from "./violation.ts";

const SELECT = { keys: ["#score"] };
const NEAREST = 7;
/** The oracle takes its time over many records. */
const SEARCHES_OF_LARGE = 2;

interface Hits {
  readonly ids: readonly (string | undefined)[];
  readonly scores: readonly (number | null | undefined)[];
}

/** Gives the number of searches made. */
export async function checkSearches(
  server: Target,
  collection: SeenCollection,
  choices: Choices,
): Promise<number> {
  const oracle: OracleCollection = {
    plan: planOf(collection),
    records: collection.records.map(toStored),
  };
  if (oracle.records.length === 0) return 0;
  const made = makeSearches(collection, choices);
  const body = { searches: collection.name === SHARED.large ? choices.some(made, SEARCHES_OF_LARGE) : made };
  const [searched] = await Promise.all([
    ask<{ ids: string[][]; scores: (number | null)[][] }>(server, {
      method: "POST",
      path: `${COLLECTIONS}/${collection.id}/search`,
      json: body,
    }),
    checkQuery(server, collection, { oracle, vector: someVector(choices) }),
  ]);
  for (const [at, search] of parseSearchRequest(body).searches.entries()) {
    const expected = oracleSearch(oracle, search);
    compare(collection, JSON.stringify(body.searches[at]), {
      oracle: { ids: expected.map(({ id }) => id), scores: expected.map(({ score }) => score) },
      server: { ids: searched.ids[at] ?? [], scores: searched.scores[at] ?? [] },
    });
  }
  return body.searches.length + 1;
}

/** Exact and by default, filtered, sparse, both together, and by text alone. */
function makeSearches({ variant, records }: SeenCollection, choices: Choices): object[] {
  const knn = (more: object): object => ({ $knn: { query: someVector(choices), limit: 10, ...more } });
  const some = choices.one(records);
  const where = { $or: [{ tag: choices.one(TAGS) }, { n: { $gte: some.metadata.n } }] };
  const searches: object[] = [
    { rank: knn({ exact: true }), select: SELECT },
    { rank: knn({}), select: SELECT },
    { where, rank: knn({ limit: 20 }), select: SELECT },
    {
      where: { "#document": { $contains: some.document.split(" ")[1] ?? "" } },
      limit: { limit: 50 },
      select: SELECT,
    },
  ];
  if (!variant.startsWith("plain")) {
    const { indices, values } = some.metadata.terms;
    const sparse = { $knn: { query: { indices, values }, key: "terms", limit: 10, default: 5 } };
    searches.push(
      { rank: sparse, select: SELECT },
      { where, rank: { $sum: [knn({ default: 3 }), sparse] }, limit: { limit: 12 }, select: SELECT },
    );
  }
  return searches;
}

async function checkQuery(
  server: Target,
  collection: SeenCollection,
  { oracle, vector }: { readonly oracle: OracleCollection; readonly vector: readonly number[] },
): Promise<void> {
  const { ids, distances } = await ask<{ ids: string[][]; distances: number[][] }>(server, {
    method: "POST",
    path: `${COLLECTIONS}/${collection.id}/query`,
    json: { query_embeddings: [vector], n_results: NEAREST, include: ["distances"] },
  });
  const expected = oracleNearest(oracle, oracle.records, Float32Array.from(vector), NEAREST);
  compare(collection, "query", {
    oracle: { ids: expected.map(({ id }) => id), scores: expected.map(({ score }) => score) },
    server: { ids: ids[0] ?? [], scores: distances[0] ?? [] },
  });
}

function compare(
  { name }: SeenCollection,
  what: string,
  { oracle, server }: { readonly oracle: Hits; readonly server: Hits },
): void {
  const canonical = ({ ids, scores }: Hits): string =>
    JSON.stringify(ids.map((id, at) => [id, Math.fround(scores[at] ?? Number.NaN)]));
  if (canonical(oracle) === canonical(server)) return;
  throw new Violation(`${name}: a search differs from the oracle: ${what}`, [
    `oracle: ${canonical(oracle)}`,
    `server: ${canonical(server)}`,
  ]);
}

function planOf({ variant }: SeenCollection): IndexPlan {
  const [sparse, space] = variant.split(" ") as ["plain" | "bm25" | "sparse", IndexPlan["space"]];
  const index = { key: "terms", bm25: sparse === "bm25", sourceKey: null, embeddingFunction: null };
  return { space, embeddingFunction: null, sparse: sparse === "plain" ? [] : [index] };
}

function toStored({ id, embedding, document, metadata }: TortureRecord, offset: number): StoredRecord {
  const { n, owner, tag, terms } = metadata;
  const entries: readonly [string, MetadataValue][] = [
    ["n", BigInt(n)],
    ["owner", owner],
    ["tag", tag],
    ["terms", { indices: Uint32Array.from(terms.indices), values: Float32Array.from(terms.values) }],
  ];
  const stored: Metadata = new Map(entries);
  return {
    offset,
    sequence: 0,
    id,
    embedding: Float32Array.from(embedding),
    document,
    uri: null,
    metadata: stored,
  };
}

function someVector(choices: Choices): number[] {
  return Array.from({ length: DIMENSION }, () => Math.fround(choices.unit() * 2 - 1));
}

/**
 * A relevance set in a collection of a running server: written through the public client with the server's own
 * embedding, searched through the public client with text queries. Nothing is computed on this side.
 */
import {
  type Collection,
  type RankExpression,
  SheafClient,
  type SheafClientOptions,
  hybridSchema,
  knn,
  rrf,
} from "@sheaf/client";
import type { JudgedQuery, RelevanceSet } from "./relevance-set.ts";

export const SYSTEMS = ["dense", "bm25", "rrf"] as const;
export type System = (typeof SYSTEMS)[number];

/** Results of one query. More than the ten that are scored, so that another depth needs no other run. */
const RESULTS = 100;
/** Leaves of the fusion look this deep: beyond it 1 / (k + rank) hardly moves an order of the first ten. */
const FUSION_DEPTH = 100;
const SPARSE_KEY = "bm25";
const RECORDS_PER_WRITE = 200;
/** Writes under way at once: one embeds while another is stored. */
const WRITERS = 2;
const QUERIES_PER_CALL = 25;

export class SearchedSet {
  readonly #collection: Collection;

  private constructor(collection: Collection) {
    this.#collection = collection;
  }

  /** Makes the collection and writes every document. `onProgress` is told the documents written so far. */
  static async write(
    set: RelevanceSet,
    options: SheafClientOptions,
    onProgress: (written: number) => void,
  ): Promise<SearchedSet> {
    const client = new SheafClient(options);
    // Documents over the model's limit are cut, and all else is as it comes.
    const schema = hybridSchema({ truncate: true });
    const collection = await client.createCollection({ name: set.name, schema });
    const batches = slices(set.documents, RECORDS_PER_WRITE);
    let written = 0;
    const writer = async (): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        await collection.add({ records: batch.map(({ id, text }) => ({ id, document: text })) });
        written += batch.length;
        onProgress(written);
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
    return new SearchedSet(collection);
  }

  /** The ids that the server answers, best first, for each query. */
  async rankings(queries: readonly JudgedQuery[], system: System): Promise<readonly (readonly string[])[]> {
    const rankings: string[][] = [];
    for (const batch of slices(queries, QUERIES_PER_CALL)) {
      const searches = batch.map(({ text }) => ({ rank: rankOf(system, text), limit: RESULTS, select: [] }));
      const answers = await this.#collection.searchAll({ searches });
      rankings.push(...answers.map((hits) => hits.map(({ id }) => id)));
    }
    return rankings;
  }
}

function rankOf(system: System, query: string): RankExpression {
  const dense = { query, limit: FUSION_DEPTH };
  const sparse = { query, key: SPARSE_KEY, limit: FUSION_DEPTH };
  if (system === "dense") return knn(dense);
  return system === "bm25" ? knn(sparse) : rrf({ ranks: [dense, sparse] });
}

function slices<T>(values: readonly T[], size: number): T[][] {
  const count = Math.ceil(values.length / size);
  return Array.from({ length: count }, (_, index) => values.slice(index * size, (index + 1) * size));
}

/**
 * Searches: turns every text query into a vector, then lets the engine search. All texts for one model go to it in one
 * call, whichever searches they come from.
 */
import type { Embedder } from "@sheaf/inference";
import {
  type CollectionRef,
  DOCUMENT_KEY,
  type EmbeddingPlan,
  type FieldLeaf,
  type IndexPlan,
  type Knn,
  type Rank,
  type SearchRequest,
  checkSearchAgainstSchema,
  indexPlan,
  planForQueries,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import { CollectionEmbedder, type PlannedTexts } from "./collection-embedder.ts";
import { EmbeddingFunctions, type EmbeddingParts } from "./embedding-functions.ts";
import type { EngineSource } from "../request/engine-source.ts";
import type { Read } from "../replies/result-replies.ts";
import { handOn } from "./hand-on.ts";
import type { HighlightPlan, HighlightService, SoughtTerms } from "./highlight-service.ts";
import { kindOfKey, queryPlan } from "./query-plan.ts";

interface TextLeaf {
  readonly knn: Knn;
  readonly text: string;
}

/** The texts that one model embeds with one instruction. */
interface Batch {
  readonly kind: "dense" | "sparse";
  readonly model: string;
  readonly plan: EmbeddingPlan;
  readonly leaves: TextLeaf[];
}

/** What becomes of a leaf. */
type EmbeddedQuery = Pick<Knn, "query" | "tokens">;

interface EmbeddedLeaf extends EmbeddedQuery {
  readonly batch: Batch;
}

export class SearchService {
  readonly #engine: EngineSource;
  readonly #embedder: Embedder;
  readonly #functions: EmbeddingFunctions;
  readonly #highlights: HighlightService;

  constructor({ engine, embedder, tasks }: EmbeddingParts, highlights: HighlightService) {
    this.#highlights = highlights;
    this.#engine = engine;
    this.#embedder = embedder;
    this.#functions = new EmbeddingFunctions(embedder, tasks);
  }

  /** Begins the read: one list of records per search. */
  async search(ref: CollectionRef, request: SearchRequest, budget: RequestBudget): Promise<Read> {
    const texts = request.searches.flatMap(({ rank }) => textLeaves(rank));
    if (texts.length === 0) {
      const plans = request.searches.map(({ highlight }) => highlight);
      return this.#begin(ref, request, plans, budget);
    }
    const collection = await this.#engine().getCollection(ref);
    // The engine checks this too, but a search that it would refuse is not worth embedding.
    checkSearchAgainstSchema(request, collection.schema);
    budget.expectTexts(texts.length);
    const embedder = new CollectionEmbedder(this.#embedder, collection);
    const index = indexPlan(collection.schema);
    const embedded = new Map<Knn, EmbeddedLeaf>();
    const isExplained = request.searches.some(({ explain }) => explain !== undefined);
    for (const batch of this.#batches(texts, index)) {
      const queries = await embed(batch, embedder, { budget, isExplained });
      for (const [knn, query] of queries) embedded.set(knn, { batch, ...query });
    }
    const filled = await handOn(withVectors(request, embedded), request, budget.signal);
    const plans = request.searches.map(({ rank, highlight }) => {
      return highlight && { ...highlight, terms: termsOf(rank, embedded, index) };
    });
    return this.#begin(ref, filled, plans, budget);
  }

  /** Of a request without texts. */
  async #begin(
    ref: CollectionRef,
    request: SearchRequest,
    plans: readonly (HighlightPlan | undefined)[],
    budget: RequestBudget,
  ): Promise<Read> {
    const first = await this.#engine().search(ref, request, budget);
    return { ref, first, budget, complete: this.#highlights.completing(plans, budget) };
  }

  #batches(leaves: readonly TextLeaf[], index: IndexPlan): readonly Batch[] {
    const batches = new Map<string, Batch>();
    for (const leaf of leaves) {
      const { knn } = leaf;
      const kind = kindOfKey(knn.key);
      const plan = queryPlan(this.#functions, knn, index);
      const model = this.#functions.queryModel(plan);
      const key = JSON.stringify([kind, model, plan.queryInstruction, plan.truncate, plan.bm25]);
      const batch = batches.get(key) ?? { kind, model, plan, leaves: [] };
      batch.leaves.push(leaf);
      batches.set(key, batch);
    }
    return [...batches.values()];
  }
}

/** Whether the vectors that a leaf searches were made of the documents. */
function showsTerms({ key }: Knn, { sparse }: IndexPlan): boolean {
  return sparse.some((index) => index.key === key && index.sourceKey === DOCUMENT_KEY);
}

/** What the text queries of a rank look for, those of one model and its settings together. */
function termsOf(
  rank: Rank | null,
  embedded: ReadonlyMap<Knn, EmbeddedLeaf>,
  index: IndexPlan,
): readonly SoughtTerms[] {
  const byBatch = new Map<Batch, number[]>();
  for (const { knn } of textLeaves(rank)) {
    const { batch, query } = embedded.get(knn) ?? {};
    if (batch === undefined || query?.type !== "sparse" || !showsTerms(knn, index)) continue;
    const terms = byBatch.get(batch) ?? [];
    for (const term of query.vector.indices) terms.push(term);
    byBatch.set(batch, terms);
  }
  return Array.from(byBatch, ([{ model, plan }, terms]) => ({
    model,
    bm25: plan.bm25 ?? {},
    terms: Uint32Array.from(new Set(terms)),
  }));
}

async function embed(
  { kind, model, plan, leaves }: Batch,
  embedder: CollectionEmbedder,
  { budget, isExplained }: { readonly budget: RequestBudget; readonly isExplained: boolean },
): Promise<readonly (readonly [Knn, EmbeddedQuery])[]> {
  const texts: PlannedTexts = {
    plan: planForQueries(plan),
    model,
    instruction: plan.queryInstruction,
    texts: leaves.map(({ text }) => text),
    describe: (index) => `${leaves[index]?.knn.path}.query`,
  };
  const queries: readonly EmbeddedQuery[] = await embedQueries();
  return queries.flatMap((query, index) => {
    const leaf = leaves[index];
    return leaf === undefined ? [] : [[leaf.knn, query] as const];
  });

  async function embedQueries(): Promise<readonly EmbeddedQuery[]> {
    if (kind === "sparse") {
      const vectors = await embedder.sparse(texts, budget);
      return vectors.map((vector) => ({ query: { type: "sparse", vector } }));
    }
    if (!isExplained) {
      const vectors = await embedder.dense(texts, budget);
      return vectors.map((vector) => ({ query: { type: "dense", vector } }));
    }
    const { vectors, tokens } = await embedder.denseWithTokens(texts, budget);
    return vectors.map((vector, i) => ({
      query: { type: "dense", vector },
      tokens: tokens?.[i]?.pieces ?? [],
    }));
  }
}

function textLeaves(rank: Rank | null): readonly TextLeaf[] {
  if (rank === null || isPlain(rank)) return [];
  if (rank.type === "knn") return rank.query.type === "text" ? [{ knn: rank, text: rank.query.text }] : [];
  if (rank.type === "nary") return rank.operands.flatMap(textLeaves);
  if (rank.type === "binary") return [...textLeaves(rank.left), ...textLeaves(rank.right)];
  return textLeaves(rank.operand);
}

/** With the vectors of texts, and the models that made them. */
function withVectors(request: SearchRequest, embedded: ReadonlyMap<Knn, EmbeddedLeaf>): SearchRequest {
  const searches = request.searches.map((search) =>
    search.rank === null ? search : { ...search, rank: replaceQueries(search.rank, embedded) },
  );
  return { ...request, searches };
}

function replaceQueries(rank: Rank, embedded: ReadonlyMap<Knn, EmbeddedLeaf>): Rank {
  const replace = (operand: Rank): Rank => replaceQueries(operand, embedded);
  if (isPlain(rank)) return rank;
  if (rank.type === "knn") {
    const found = embedded.get(rank);
    if (found === undefined) return rank;
    const { batch, ...query } = found;
    return { ...rank, ...query, model: batch.model };
  }
  if (rank.type === "nary") return { ...rank, operands: rank.operands.map(replace) };
  if (rank.type === "binary") return { ...rank, left: replace(rank.left), right: replace(rank.right) };
  return { ...rank, operand: replace(rank.operand) };
}

/** A leaf without a query. */
function isPlain(rank: Rank): rank is Extract<Rank, { type: "val" }> | FieldLeaf {
  return rank.type === "val" || rank.type === "key" || rank.type === "age";
}

/**
 * Embeds the texts of one call for one collection. A collection remembers the weights that the server made its vectors
 * with, so that vectors of two weights never meet in a search: where the server has others by now, texts are 409 until
 * the new weights are accepted. What is remembered comes with the collection, which every caller has asked for anyway.
 */
import type { Engine } from "@sheaf/engine";
import type { DenseEmbeddings, Embedder, EmbedRequest } from "@sheaf/inference";
import {
  type CancelSignal,
  type Collection,
  type EmbeddingPlan,
  type ModelIdentity,
  SheafError,
  type SparseVector,
  type Truncation,
  throwIfAborted,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import { requireSameWeights } from "./model-mismatch.ts";

/** Texts that one model embeds with one instruction; both are of the plan. */
export interface PlannedTexts {
  readonly plan: EmbeddingPlan;
  readonly model: string;
  readonly instruction: string;
  readonly texts: readonly string[];
  /** Names text `index` in a refusal. */
  readonly describe: (index: number) => string;
}

export class CollectionEmbedder {
  readonly collection: Collection;
  readonly #embedder: Embedder;
  /** By model: the weights that this call uses, and those that are to be remembered. */
  readonly #used = new Map<string, ModelIdentity>();
  readonly #noted = new Map<string, ModelIdentity>();

  constructor(embedder: Embedder, collection: Collection) {
    this.#embedder = embedder;
    this.collection = collection;
  }

  /** Whether the server has made vectors of the collection with this model. */
  remembers(model: string): boolean {
    return Object.hasOwn(this.collection.models, model);
  }

  async dense(texts: PlannedTexts, budget: RequestBudget): Promise<readonly Float32Array[]> {
    return (await this.#embedder.dense(await this.#denseRequest(texts), budget)).vectors;
  }

  /** As `dense`, with what the model read of each text. */
  async denseWithTokens(texts: PlannedTexts, budget: RequestBudget): Promise<DenseEmbeddings> {
    return this.#embedder.dense({ ...(await this.#denseRequest(texts)), tokens: Infinity }, budget);
  }

  async sparse(texts: PlannedTexts, budget: RequestBudget): Promise<readonly SparseVector[]> {
    const weights = await this.#weightsOf(texts.model);
    return (await this.#embedder.sparse({ ...toRequest(texts, "end"), weights }, budget)).vectors;
  }

  /** Notes the weights of a model whose vectors are going to be stored, and that the collection does not remember. */
  async note(model: string): Promise<void> {
    if (this.remembers(model) || this.#noted.has(model)) return;
    this.#noted.set(model, this.#used.get(model) ?? (await this.#embedder.identity(model)));
  }

  /** The same for the model that queries will need; where its weights are absent, it is left for a later write. */
  async noteForQueries(model: string): Promise<void> {
    if (this.remembers(model) || !this.#embedder.model(model).available) return;
    try {
      await this.note(model);
    } catch (error) {
      if (!(error instanceof SheafError && error.code === "model_unavailable")) throw error;
    }
  }

  /** Has the collection remember what was noted; 409 where another writer came first, with other weights. */
  async remember(engine: Engine, signal: CancelSignal): Promise<void> {
    const noted = [...this.#noted.values()];
    if (noted.length === 0) return;
    throwIfAborted(signal);
    const { tenant, database, id } = this.collection;
    const remembered = await engine.rememberModels({ tenant, database, id }, noted);
    for (const now of noted) requireSameWeights(this.collection, now, remembered);
  }

  /** Throws 409 where the collection has vectors of other weights of the model. */
  async requireSameWeights(model: string): Promise<void> {
    if (this.remembers(model)) requireSameWeights(this.collection, await this.#embedder.identity(model));
  }

  /** The same for texts of this call, all of which the same weights embed, on whichever machine. */
  async #weightsOf(model: string): Promise<string> {
    const used = this.#used.get(model) ?? (await this.#embedder.identity(model));
    requireSameWeights(this.collection, used);
    this.#used.set(model, used);
    return used.digest;
  }

  async #denseRequest(texts: PlannedTexts): Promise<EmbedRequest> {
    const weights = await this.#weightsOf(texts.model);
    return { ...toRequest(texts, texts.plan.truncate ? "end" : "none"), weights };
  }
}

function toRequest(
  { plan, model, instruction, texts, describe }: PlannedTexts,
  truncate: Truncation,
): EmbedRequest {
  return {
    model,
    texts,
    instruction,
    truncate,
    describe,
    ...(plan.bm25 === null ? {} : { bm25: plan.bm25 }),
  };
}

/** What models there are and how; takes the weights that the server has now for those that a collection's vectors were made with. */
import type { Embedder, ModelInfo } from "@sheaf/inference";
import {
  type CancelSignal,
  type CollectionRef,
  type ModelIdentity,
  indexPlan,
  throwIfAborted,
} from "@sheaf/protocol";
import { EmbeddingFunctions, type EmbeddingParts } from "./embedding-functions.ts";
import type { EngineSource } from "../request/engine-source.ts";

export interface AcceptedModel {
  readonly before: ModelIdentity;
  readonly now: ModelIdentity;
}

export class ModelService {
  readonly #engine: EngineSource;
  readonly #embedder: Embedder;
  readonly #functions: EmbeddingFunctions;

  constructor({ engine, embedder, tasks }: EmbeddingParts) {
    this.#engine = engine;
    this.#embedder = embedder;
    this.#functions = new EmbeddingFunctions(embedder, tasks);
  }

  list(): readonly ModelInfo[] {
    return this.#embedder.models();
  }

  /** As `Embedder.pull` refuses; what is known of the model afterwards. */
  pull(identifier: string): ModelInfo {
    this.#embedder.pull(identifier);
    return this.#embedder.model(identifier);
  }

  /**
   * The models in use whose weights were others, which they are no more; stored vectors stay as they are. 503 if the
   * weights of a remembered model are absent.
   */
  async accept(ref: CollectionRef, signal: CancelSignal): Promise<readonly AcceptedModel[]> {
    const engine = this.#engine();
    const { schema, models } = await engine.getCollection(ref);
    const accepted: AcceptedModel[] = [];
    for (const model of this.#functions.modelsOf(indexPlan(schema))) {
      const before = models[model];
      if (before === undefined) continue;
      const now = await this.#embedder.identity(model);
      if (now.digest !== before.digest) accepted.push({ before, now });
    }
    throwIfAborted(signal);
    if (accepted.length > 0)
      await engine.acceptModels(
        ref,
        accepted.map(({ now }) => now),
      );
    return accepted;
  }
}

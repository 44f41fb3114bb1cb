/** Which embedding functions of a collection this server can run, and with which models. */
import type { Embedder } from "@sheaf/inference";
import {
  type EmbeddingPlan,
  type IndexPlan,
  type JsonObject,
  type ModelKind,
  type TaskTable,
  embeddingPlan,
} from "@sheaf/protocol";
import type { EngineSource } from "../request/engine-source.ts";

/** What a service needs that embeds for collections. */
export interface EmbeddingParts {
  readonly engine: EngineSource;
  readonly embedder: Embedder;
  readonly tasks: TaskTable;
}

interface ModelFacts {
  readonly kind: ModelKind;
  readonly queryModel: string | null;
}

export class EmbeddingFunctions {
  /** By model identifier. Fixed for the life of a server, while asking costs file reads. */
  readonly #models: ReadonlyMap<string, ModelFacts>;
  readonly #tasks: TaskTable;

  constructor(embedder: Embedder, tasks: TaskTable) {
    this.#tasks = tasks;
    this.#models = new Map(
      embedder.models().map(({ identifier, kind, queryModel }) => [identifier, { kind, queryModel }]),
    );
  }

  /** `null`: the function is none of ours, or its model makes the other kind of vector. */
  plan(embeddingFunction: JsonObject | null, kind: ModelKind): EmbeddingPlan | null {
    const plan = embeddingPlan(embeddingFunction, this.#tasks);
    return plan !== null && this.#models.get(plan.model)?.kind === kind ? plan : null;
  }

  /** The model for queries: the one that the function names, else the one that belongs to that for documents. */
  queryModel({ model, queryModel }: EmbeddingPlan): string {
    return queryModel ?? this.#models.get(model)?.queryModel ?? model;
  }

  /** Every model that vectors in these indexes are made or asked for with. */
  modelsOf(index: IndexPlan): readonly string[] {
    const plans = [
      this.plan(index.embeddingFunction, "dense"),
      ...index.sparse.map(({ embeddingFunction }) => this.plan(embeddingFunction, "sparse")),
    ];
    const models = plans.flatMap((plan) => (plan === null ? [] : [plan.model, this.queryModel(plan)]));
    return [...new Set(models)];
  }
}

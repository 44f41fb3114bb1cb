/** Which embedding functions of a collection this server can run, and how. */
import type { Embedder, ModelKind } from "@sheaf/inference";
import { type EmbeddingPlan, type JsonObject, type TaskTable, embeddingPlan } from "@sheaf/protocol";
import type { EngineSource } from "./engine-source.ts";

/** What a service needs that embeds for collections. */
export interface EmbeddingParts {
  readonly engine: EngineSource;
  readonly embedder: Embedder;
  readonly tasks: TaskTable;
}

export class EmbeddingFunctions {
  /** Model identifier -> what it makes. Fixed for the life of a server, while asking costs file reads. */
  readonly #kinds: ReadonlyMap<string, ModelKind>;

  readonly #tasks: TaskTable;

  constructor(embedder: Embedder, tasks: TaskTable) {
    this.#tasks = tasks;
    this.#kinds = new Map(embedder.models().map(({ identifier, kind }) => [identifier, kind]));
  }

  /** `null`: the function is none of ours, or its model makes the other kind of vector. */
  plan(embeddingFunction: JsonObject | null, kind: ModelKind): EmbeddingPlan | null {
    const plan = embeddingPlan(embeddingFunction, this.#tasks);
    return plan !== null && this.#kinds.get(plan.model) === kind ? plan : null;
  }
}

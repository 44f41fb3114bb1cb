/** Reads for the server's own use, gathered from the batches that the engine hands out. */
import type { CollectionRef, GetRequest, ResultRecord } from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import type { EngineSource } from "../request/engine-source.ts";

export class GetService {
  readonly #engine: EngineSource;

  constructor(engine: EngineSource) {
    this.#engine = engine;
  }

  /** All of it at once: only for what is bounded otherwise. */
  async get(
    ref: CollectionRef,
    request: GetRequest,
    budget: RequestBudget,
  ): Promise<readonly ResultRecord[]> {
    const engine = this.#engine();
    const records: ResultRecord[] = [];
    for (let batch = await engine.get(ref, request, budget); ;) {
      for (const record of batch.lists.flat()) records.push(record);
      if (batch.cursor === null) return records;
      batch = await engine.nextBatch(ref, batch.cursor, budget);
    }
  }
}

/** Whole reads, gathered from the batches that the engine hands out. */
import type { ResultBatch } from "@sheaf/engine";
import type { CollectionRef, GetRequest, ResultRecord } from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import type { EngineSource } from "../request/engine-source.ts";

export class GetService {
  readonly #engine: EngineSource;

  constructor(engine: EngineSource) {
    this.#engine = engine;
  }

  async get(
    ref: CollectionRef,
    request: GetRequest,
    budget: RequestBudget,
  ): Promise<readonly ResultRecord[]> {
    const [records = []] = await this.gather(ref, await this.#engine().get(ref, request, budget), budget);
    return records;
  }

  /** All lists of a read that has begun. */
  async gather(
    ref: CollectionRef,
    first: ResultBatch,
    budget: RequestBudget,
  ): Promise<readonly (readonly ResultRecord[])[]> {
    if (first.cursor === null) return first.lists;
    const engine = this.#engine();
    const lists: ResultRecord[][] = [];
    for (let batch = first; ; batch = await engine.nextBatch(ref, batch.cursor, budget)) {
      for (const [i, records] of batch.lists.entries()) (lists[batch.first + i] ??= []).push(...records);
      if (batch.cursor === null) return lists;
    }
  }
}

/** All the records of a get, gathered from the stretches that the engine hands out. */
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
    const engine = this.#engine();
    const records: ResultRecord[] = [];
    let cursor: number | null = null;
    do {
      const page = await engine.get(ref, request, cursor, budget);
      for (const record of page.records) records.push(record);
      cursor = page.next;
    } while (cursor !== null);
    return records;
  }
}

/**
 * Conditional transactions. The token of a read is taken before the read: whatever changes while it runs counts as
 * changed, so a transaction may be refused needlessly, but never commits over a state that it has not seen. Nothing is
 * held on the server between its calls.
 */
import {
  type CollectionRef,
  type CommitRequest,
  type CommitResult,
  LIMITS,
  type ReadRequest,
  type ReadToken,
  type ResultRecord,
  invalid,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import type { EngineSource } from "../request/engine-source.ts";
import type { GetService } from "./get-service.ts";
import type { WriteService } from "./write-service.ts";

export interface TransactionParts {
  readonly engine: EngineSource;
  readonly get: GetService;
  readonly write: WriteService;
}

export interface TransactionRead {
  readonly records: readonly ResultRecord[];
  readonly token: ReadToken;
}

export class TransactionService {
  readonly #engine: EngineSource;
  readonly #get: GetService;
  readonly #write: WriteService;

  constructor({ engine, get, write }: TransactionParts) {
    this.#engine = engine;
    this.#get = get;
    this.#write = write;
  }

  /** A later read of a transaction keeps the token of the first, and is refused if it would see another state. */
  async read(
    ref: CollectionRef,
    { get, token }: ReadRequest,
    budget: RequestBudget,
  ): Promise<TransactionRead> {
    const engine = this.#engine();
    const point = token ?? (await engine.readToken(ref));
    const records = await this.#get.get(ref, get, budget);
    if (token !== null) {
      const readIds = [...(get.ids ?? []), ...records.map(({ id }) => id)];
      if (readIds.length > LIMITS.readIdsPerCommit) {
        throw invalid(
          "limit",
          `a later read of a transaction takes at most ${LIMITS.readIdsPerCommit} records`,
        );
      }
      await engine.commit(ref, { token, readIds, operations: [] }, budget);
    }
    return { records, token: point };
  }

  async commit(ref: CollectionRef, request: CommitRequest, budget: RequestBudget): Promise<CommitResult> {
    const engine = this.#engine();
    const collection = await engine.getCollection(ref);
    const operations = await this.#write.fill(collection, request.operations, budget);
    return engine.commit(ref, { ...request, operations }, budget);
  }
}

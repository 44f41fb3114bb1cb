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
  type SheafError,
  invalid,
} from "@sheaf/protocol";
import type { ResultBatch } from "@sheaf/engine";
import type { Read } from "../replies/result-replies.ts";
import type { RequestBudget } from "../request/request-context.ts";
import type { EngineSource } from "../request/engine-source.ts";
import { handOn } from "./hand-on.ts";
import type { HighlightService } from "./highlight-service.ts";
import type { WriteService } from "./write-service.ts";

export interface TransactionParts {
  readonly engine: EngineSource;
  readonly write: WriteService;
  readonly highlights: HighlightService;
}

export interface TransactionRead {
  readonly read: Read;
  readonly token: ReadToken;
}

export class TransactionService {
  readonly #engine: EngineSource;
  readonly #write: WriteService;
  readonly #highlights: HighlightService;

  constructor({ engine, write, highlights }: TransactionParts) {
    this.#highlights = highlights;
    this.#engine = engine;
    this.#write = write;
  }

  /**
   * Begins a read. A later one of a transaction keeps the token of the first, and is refused, once all of it is read, if
   * it would show another state.
   */
  async read(
    ref: CollectionRef,
    { get, token }: ReadRequest,
    budget: RequestBudget,
  ): Promise<TransactionRead> {
    const engine = this.#engine();
    const point = token ?? (await engine.readToken(ref));
    const complete = this.#highlights.completing([get.highlight], budget);
    const read = { ref, first: await engine.get(ref, get, budget), budget, complete };
    if (token === null) return { read, token: point };
    const readIds = [...(get.ids ?? [])];
    const onBatch = ({ lists }: ResultBatch): void => {
      for (const { id } of lists.flat()) readIds.push(id);
      if (readIds.length > LIMITS.readIdsPerCommit) throw tooManyIds();
    };
    const onRead = async (): Promise<void> => {
      await engine.commit(ref, { token, readIds, operations: [] }, budget);
    };
    return { read: { ...read, onBatch, onRead }, token: point };
  }

  async commit(ref: CollectionRef, request: CommitRequest, budget: RequestBudget): Promise<CommitResult> {
    const engine = this.#engine();
    const collection = await engine.getCollection(ref);
    const operations = await this.#write.fill(collection, request.operations, budget);
    return engine.commit(ref, await handOn({ ...request, operations }, request, budget.signal), budget);
  }
}

function tooManyIds(): SheafError {
  return invalid("limit", `a later read of a transaction takes at most ${LIMITS.readIdsPerCommit} records`);
}

/**
 * The embedding endpoints. Order of refusals: 400 body and model, 501 wrong kind, 503 weights absent, 413 too long,
 * 429 queue full; all but the size of a single text is the embedder's to say.
 */
import type { DenseEmbeddings, EmbedRequest, Embedder, SparseEmbeddings } from "@sheaf/inference";
import {
  type EmbedBody,
  type TaskTable,
  type Truncation,
  checkTextSizes,
  resolveInstruction,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";

/** Of each text that come with its embedding. */
const MOST_PIECES = 1_000;

export class EmbedService {
  readonly #embedder: Embedder;
  readonly #tasks: TaskTable;

  constructor(embedder: Embedder, tasks: TaskTable) {
    this.#embedder = embedder;
    this.#tasks = tasks;
  }

  dense(model: string, body: EmbedBody, budget: RequestBudget): Promise<DenseEmbeddings> {
    const request = this.#request(model, body, "none");
    const info = this.#embedder.model(model);
    // Where the model is of the wrong kind or absent, that comes first, and the embedder says it.
    if (info.kind === "dense" && info.available) checkTextSizes(body.texts, "too_large");
    budget.expectTexts(body.texts.length);
    return this.#embedder.dense(request, budget);
  }

  sparse(model: string, body: EmbedBody, budget: RequestBudget): Promise<SparseEmbeddings> {
    const request = this.#request(model, body, "end");
    this.#embedder.model(model);
    checkTextSizes(body.texts, "invalid_argument");
    budget.expectTexts(body.texts.length);
    return this.#embedder.sparse(request, budget);
  }

  /** @param truncation Of the endpoint, where the body does not say. */
  #request(model: string, body: EmbedBody, truncation: Truncation): EmbedRequest {
    return {
      model,
      texts: body.texts,
      instruction: resolveInstruction(body, this.#tasks),
      truncate: body.truncate ?? truncation,
      describe: (index) => `texts[${index}]`,
      ...(body.pieces && { tokens: MOST_PIECES }),
    };
  }
}

/**
 * Writes: fills the vectors that a write leaves to the server, then lets the engine store the whole. A text over its
 * model's limit refuses the write before anything is stored; nothing is ever stored of a write that is refused.
 *
 * What is filled: a dense vector where a document comes without one, and a sparse vector where the text under an
 * index's source key comes without one. Where the collection's function is not known to the server, nothing is: the
 * engine keeps the old vector, or refuses a record that has none.
 */
import type { EmbedRequest, Embedder } from "@sheaf/inference";
import {
  type Collection,
  type CollectionRef,
  type EmbeddingPlan,
  type IndexPlan,
  type SparseIndexPlan,
  type SparseVector,
  type WriteKind,
  type WriteRecord,
  type WriteRequest,
  indexPlan,
} from "@sheaf/protocol";
import type { RequestBudget } from "../http/deadline.ts";
import { EmbeddingFunctions, type EmbeddingParts } from "./embedding-functions.ts";
import type { EngineSource } from "./engine-source.ts";
import { withinTextLimit } from "./text-limit.ts";

const DOCUMENT = "#document";

/** A text to embed and the record it belongs to. */
interface Source {
  /** Position of the record in the write. */
  readonly record: number;
  /** `null`: the record's text has gone, and with it the vector made of it. */
  readonly text: string | null;
}

export class WriteService {
  readonly #engine: EngineSource;
  readonly #embedder: Embedder;
  readonly #functions: EmbeddingFunctions;

  constructor({ engine, embedder, tasks }: EmbeddingParts) {
    this.#engine = engine;
    this.#embedder = embedder;
    this.#functions = new EmbeddingFunctions(embedder, tasks);
  }

  async write(ref: CollectionRef, request: WriteRequest, budget: RequestBudget): Promise<void> {
    const engine = this.#engine();
    const collection = await engine.getCollection(ref);
    const filled = await this.fill(collection, request, budget);
    await engine.write(ref, filled, budget);
  }

  /** The write with every vector that it leaves to the server; stores nothing. */
  async fill(collection: Collection, request: WriteRequest, budget: RequestBudget): Promise<WriteRequest> {
    const index = indexPlan(collection.schema);
    const records = [...request.records];
    await this.#fillDense(records, index, collection.dimension, budget);
    for (const sparse of index.sparse) await this.#fillSparse(records, request.kind, sparse, budget);
    return { ...request, records };
  }

  async #fillDense(
    records: WriteRecord[],
    index: IndexPlan,
    dimension: number | null,
    budget: RequestBudget,
  ): Promise<void> {
    const plan = this.#functions.plan(index.embeddingFunction, "dense");
    if (plan === null) return;
    if (dimension !== null && dimension !== this.#embedder.model(plan.model).dimension) return;
    const sources = records.flatMap(({ embedding, document }, record) =>
      embedding === null && document !== null ? [{ record, text: document }] : [],
    );
    if (sources.length === 0) return;
    const cut = plan.truncate ? sources.map(firstPart) : sources;
    budget.expectTexts(cut.length);
    const { vectors } = await this.#embedder.dense(
      embedRequest(plan, cut, (record) => describe(records, record, "document")),
      budget,
    );
    for (const [position, { record }] of sources.entries()) {
      const embedding = vectors[position];
      if (embedding !== undefined) replace(records, record, { embedding });
    }
  }

  async #fillSparse(
    records: WriteRecord[],
    kind: WriteKind,
    sparse: SparseIndexPlan,
    budget: RequestBudget,
  ): Promise<void> {
    const { key, sourceKey } = sparse;
    const plan = this.#functions.plan(sparse.embeddingFunction, "sparse");
    if (plan === null || sourceKey === null) return;
    const sources = records.flatMap((record, position) => {
      const text = record.metadata?.has(key) === true ? undefined : sourceText(record, sourceKey);
      return text === undefined ? [] : [{ record: position, text }];
    });
    const texts = sources.flatMap(({ record, text }) => (text === null ? [] : [firstPart({ record, text })]));
    const vectors = await this.#sparseVectors(records, plan, texts, budget);
    for (const { record, text } of sources) {
      if (text !== null) setMetadata(records, record, key, vectors.get(record) ?? null);
      else if (kind !== "add") setMetadata(records, record, key, null);
    }
  }

  async #sparseVectors(
    records: readonly WriteRecord[],
    plan: EmbeddingPlan,
    texts: readonly TextSource[],
    budget: RequestBudget,
  ): Promise<ReadonlyMap<number, SparseVector>> {
    if (texts.length === 0) return new Map();
    budget.expectTexts(texts.length);
    const { vectors } = await this.#embedder.sparse(
      embedRequest(plan, texts, (record) => describe(records, record, "text")),
      budget,
    );
    return new Map(vectors.map((vector, position) => [texts[position]?.record ?? -1, vector]));
  }
}

type TextSource = Source & { readonly text: string };

function embedRequest(
  plan: EmbeddingPlan,
  sources: readonly TextSource[],
  describeRecord: (record: number) => string,
): EmbedRequest {
  return {
    model: plan.model,
    texts: sources.map(({ text }) => text),
    instruction: plan.documentInstruction,
    truncate: plan.truncate,
    describe: (index) => describeRecord(sources[index]?.record ?? index),
    ...(plan.bm25 === null ? {} : { bm25: plan.bm25 }),
  };
}

/** `undefined`: the write leaves the source as it is. */
function sourceText({ document, metadata }: WriteRecord, sourceKey: string): string | null | undefined {
  if (sourceKey === DOCUMENT) return document ?? undefined;
  const value = metadata?.get(sourceKey);
  if (value === undefined) return undefined;
  return typeof value === "string" ? value : null;
}

function firstPart({ record, text }: TextSource): TextSource {
  return { record, text: withinTextLimit(text) };
}

function describe(records: readonly WriteRecord[], record: number, what: string): string {
  return `${what} of record "${records[record]?.id}" (ids[${record}])`;
}

function replace(records: WriteRecord[], position: number, change: Partial<WriteRecord>): void {
  const record = records[position];
  if (record !== undefined) records[position] = { ...record, ...change };
}

function setMetadata(
  records: WriteRecord[],
  position: number,
  key: string,
  vector: SparseVector | null,
): void {
  replace(records, position, { metadata: new Map(records[position]?.metadata).set(key, vector) });
}

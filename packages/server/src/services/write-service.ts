/**
 * Writes: fills the vectors that a write leaves to the server, then lets the engine store the whole. A text over its
 * model's limit refuses the write before anything is stored; nothing is ever stored of a write that is refused.
 *
 * What is filled: a dense vector where a document comes without one, and a sparse vector where the text under an
 * index's source key comes without one. Where the collection's function is not known to the server, nothing is: the
 * engine keeps the old vector, or refuses a record that has none. Where documents are cut, it is the chunks of each that get
 * vectors ([decision 40](../../../../docs/adr/0040-documents-are-cut-by-the-server.md)).
 *
 * The models of what was filled are remembered just before it is stored: a crash in between leaves a model remembered
 * too early, never vectors of weights that nobody knows.
 */
import type { Embedder } from "@sheaf/inference";
import { packInTurns, packedBytes } from "@sheaf/process";
import {
  type Collection,
  type CollectionRef,
  type CommitOperation,
  DOCUMENT_KEY,
  type DocumentText,
  type EmbeddingPlan,
  type IndexPlan,
  type SparseIndexPlan,
  type SparseVector,
  type WriteKind,
  type WriteRecord,
  type WriteRequest,
  chunkingOf,
  describeMissingFunction,
  indexPlan,
  invalid,
  throwIfAborted,
  withChunks,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import { CollectionEmbedder, type PlannedTexts } from "./collection-embedder.ts";
import type { CollectionPlans } from "./collection-plans.ts";
import { DocumentCutter, assemble } from "./document-cutter.ts";
import { EmbeddingFunctions, type EmbeddingParts } from "./embedding-functions.ts";
import type { EngineSource } from "../request/engine-source.ts";
import type { GetService } from "./get-service.ts";
import { PresentRecords } from "./present-records.ts";
import { handOn } from "./hand-on.ts";
import { wholeText, withinTextLimit } from "./text-limit.ts";

/** Of a write that the engine may send back: sending as much twice takes less than asking for a collection first. */
const MOST_ON_CHANCE_BYTES = 64 * 1024;

export interface WriteParts extends EmbeddingParts {
  readonly plans: CollectionPlans;
  readonly get: GetService;
}

export class WriteService {
  readonly #engine: EngineSource;
  readonly #embedder: Embedder;
  readonly #functions: EmbeddingFunctions;
  readonly #get: GetService;
  readonly #plans: CollectionPlans;
  /** Reading one out of a schema takes longer than the rest of a write here, and `CollectionPlans` gives the same collection again. */
  readonly #indexes = new WeakMap<Collection, IndexPlan>();

  constructor({ engine, embedder, tasks, plans, get }: WriteParts) {
    this.#engine = engine;
    this.#get = get;
    this.#plans = plans;
    this.#embedder = embedder;
    this.#functions = new EmbeddingFunctions(embedder, tasks);
  }

  async write(ref: CollectionRef, request: WriteRequest, budget: RequestBudget): Promise<void> {
    const engine = this.#engine();
    const mayBeGiven = !this.#plans.knows(ref) && isGiven(request);
    if (mayBeGiven && (await engine.writeAsGiven(ref, request, budget))) return;
    const embedder = new CollectionEmbedder(this.#embedder, await this.#plans.of(ref));
    const present = new PresentRecords(this.#get, ref, budget);
    const cutter = new DocumentCutter(this.#embedder, budget);
    const filled = await this.#fill(request, embedder, budget, { present, cutter });
    await embedder.remember(engine, budget.signal);
    await engine.write(ref, filled, budget);
  }

  /** The operations with every vector that they leave to the server; stores no record. */
  async fill(
    collection: Collection,
    operations: readonly CommitOperation[],
    budget: RequestBudget,
  ): Promise<readonly CommitOperation[]> {
    const embedder = new CollectionEmbedder(this.#embedder, collection);
    const present = new PresentRecords(this.#get, collection, budget);
    const cutter = new DocumentCutter(this.#embedder, budget);
    const filled: CommitOperation[] = [];
    for (const operation of operations) {
      filled.push(
        operation.kind === "delete"
          ? operation
          : await this.#fill(operation, embedder, budget, { present, cutter }),
      );
      present.note(operation);
    }
    await embedder.remember(this.#engine(), budget.signal);
    return filled;
  }

  async #fill(
    request: WriteRequest,
    embedder: CollectionEmbedder,
    budget: RequestBudget,
    { present, cutter }: CallParts,
  ): Promise<WriteRequest> {
    const index = this.#indexOf(embedder.collection);
    const asks = request.kind === "update" && this.#fills(request, index, embedder, isText);
    const effective = asks ? await present.withoutAbsent(request) : request;
    const chunking = request.chunking ?? index.chunking ?? "none";
    if (chunking !== "none") {
      const plan = this.#planOfChunks(index, embedder);
      const cut = await cutter.cut(effective.records, { chunking, plan });
      const parts = [...cut.parts];
      await this.#fillAll({ kind: request.kind, records: parts, positions: cut.positions }, embedder, budget);
      const made = { kind: request.kind, records: await assemble(cut, parts, budget) };
      if (index.chunking === undefined) await this.#noteChunks(embedder.collection, budget);
      // Of few bytes come many vectors.
      await packInTurns(made, budget.signal);
      return made;
    }
    // As it came, a large write crosses to the engine without being encoded again.
    if (!this.#fills(effective, index, embedder, isPresent)) return effective;
    const records = [...effective.records];
    await this.#fillAll({ kind: effective.kind, records }, embedder, budget);
    return handOn({ ...effective, records }, request, budget.signal);
  }

  async #fillAll(filling: Filling, embedder: CollectionEmbedder, budget: RequestBudget): Promise<void> {
    const index = this.#indexOf(embedder.collection);
    await this.#fillDense(filling, index, embedder, budget);
    for (const sparse of index.sparse) await this.#fillSparse(filling, sparse, embedder, budget);
  }

  #planOfChunks(index: IndexPlan, embedder: CollectionEmbedder): EmbeddingPlan {
    const plan = this.#densePlan(index, embedder);
    if (plan !== null) return plan;
    const why = describeMissingFunction(index.embeddingFunction, "dense");
    throw invalid("chunking", `the server embeds the chunks of documents that it cuts: ${why}`);
  }

  /** From the first write of chunks on, ids of documents stand for their chunks. */
  async #noteChunks({ tenant, database, id }: Collection, budget: RequestBudget): Promise<void> {
    const ref = { tenant, database, id };
    throwIfAborted(budget.signal);
    const { schema } = await this.#engine().getCollection(ref);
    if (chunkingOf(schema) === null)
      await this.#engine().updateCollection(ref, { schema: withChunks(schema) });
  }

  /** Whether filling would change anything; `needs` says whether it would of a record, by the source of a sparse vector. */
  #fills(
    { records }: WriteRequest,
    index: IndexPlan,
    embedder: CollectionEmbedder,
    needs: (source: SparseSource) => boolean,
  ): boolean {
    if (this.#densePlan(index, embedder) !== null && records.some(lacksDense)) return true;
    return index.sparse.some((sparse) => {
      const isKnown = this.#functions.plan(sparse.embeddingFunction, "sparse") !== null;
      return isKnown && records.some((record) => needs(sparseSource(record, sparse)));
    });
  }

  /** `null`: vectors come from clients. */
  #densePlan({ embeddingFunction }: IndexPlan, embedder: CollectionEmbedder): EmbeddingPlan | null {
    const plan = this.#functions.plan(embeddingFunction, "dense");
    return plan !== null && this.#fits(plan, embedder) ? plan : null;
  }

  #indexOf(collection: Collection): IndexPlan {
    const known = this.#indexes.get(collection);
    if (known !== undefined) return known;
    const index = indexPlan(collection.schema);
    this.#indexes.set(collection, index);
    return index;
  }

  async #fillDense(
    filling: Filling,
    index: IndexPlan,
    embedder: CollectionEmbedder,
    budget: RequestBudget,
  ): Promise<void> {
    const { records } = filling;
    const plan = this.#densePlan(index, embedder);
    if (plan === null) return;
    const sources = records.flatMap((record, position) =>
      lacksDense(record) ? [{ record: position, text: record.document }] : [],
    );
    if (sources.length === 0) return;
    const cut: TextSource[] = [];
    for (const { record, text } of sources) {
      const read = plan.truncate ? withinTextLimit(text) : await wholeText(text, budget.signal);
      cut.push({ record, text: read });
    }
    budget.expectTexts(cut.length);
    const vectors = await embedder.dense(
      plannedTexts(plan, cut, (record) => describe(filling, record, "document")),
      budget,
    );
    await this.#note(plan, embedder);
    for (const [position, { record }] of sources.entries()) {
      const embedding = vectors[position];
      if (embedding !== undefined) replace(records, record, { embedding });
    }
  }

  async #fillSparse(
    filling: Filling,
    sparse: SparseIndexPlan,
    embedder: CollectionEmbedder,
    budget: RequestBudget,
  ): Promise<void> {
    const { kind, records } = filling;
    const { key } = sparse;
    const plan = this.#functions.plan(sparse.embeddingFunction, "sparse");
    if (plan === null) return;
    const sources = records.flatMap((record, position) => {
      const text = sparseSource(record, sparse);
      return text === undefined ? [] : [{ record: position, text }];
    });
    const texts = sources.flatMap(({ record, text }) =>
      text === null ? [] : [{ record, text: withinTextLimit(text) }],
    );
    const vectors = new Map<number, SparseVector>();
    if (texts.length > 0) {
      budget.expectTexts(texts.length);
      const made = await embedder.sparse(
        plannedTexts(plan, texts, (record) => describe(filling, record, "text")),
        budget,
      );
      await this.#note(plan, embedder);
      for (const [position, { indices, values, ...terms }] of made.entries()) {
        const vector = { indices, values, ...(plan.includeTokens ? terms : {}) };
        vectors.set(texts[position]?.record ?? -1, vector);
      }
    }
    for (const { record, text } of sources) {
      if (text !== null) setMetadata(records, record, key, vectors.get(record) ?? null);
      else if (kind !== "add") setMetadata(records, record, key, null);
    }
  }

  /** A collection of another dimension gets its vectors from clients, unless the model itself has become another. */
  #fits({ model }: EmbeddingPlan, embedder: CollectionEmbedder): boolean {
    const { dimension } = embedder.collection;
    return (
      dimension === null || embedder.remembers(model) || dimension === this.#embedder.model(model).dimension
    );
  }

  /** Vectors of this plan are going to be stored, and queries compared with them. */
  async #note(plan: EmbeddingPlan, embedder: CollectionEmbedder): Promise<void> {
    await embedder.note(plan.model);
    await embedder.noteForQueries(this.#functions.queryModel(plan));
  }
}

/** A text to embed and the record it belongs to. */
interface TextSource {
  /** Position of the record in the write. */
  readonly record: number;
  readonly text: string;
}

/** A write whose records are replaced one by one. */
interface Filling {
  readonly kind: WriteKind;
  readonly records: WriteRecord[];
  /** Where each stands in the request; left out: as they do here. */
  readonly positions?: readonly number[];
}

/** What the operations of one call share. */
interface CallParts {
  readonly present: PresentRecords;
  readonly cutter: DocumentCutter;
}

function plannedTexts(
  plan: EmbeddingPlan,
  sources: readonly TextSource[],
  describeRecord: (record: number) => string,
): PlannedTexts {
  return {
    plan,
    model: plan.model,
    instruction: plan.documentInstruction,
    texts: sources.map(({ text }) => text),
    describe: (index) => describeRecord(sources[index]?.record ?? index),
  };
}

/** Nothing is made of its records, whatever the function of the collection; a large one is not sent on the chance of that. */
function isGiven(request: WriteRequest): boolean {
  const { records, chunking = "none" } = request;
  const isShort = (packedBytes(request) ?? 0) <= MOST_ON_CHANCE_BYTES;
  return chunking === "none" && isShort && !records.some(lacksDense);
}

/** Its dense vector is left to the server. */
function lacksDense(record: WriteRecord): record is WriteRecord & { readonly document: DocumentText } {
  return record.embedding === null && record.document !== null;
}

/** The text of a sparse vector that is left to the server; `undefined`: it is not, or its source stays as it is. */
type SparseSource = DocumentText | null | undefined;

const isPresent = (source: SparseSource): boolean => source !== undefined;
const isText = (source: SparseSource): boolean => source !== undefined && source !== null;

function sparseSource(
  { document, metadata }: WriteRecord,
  { key, sourceKey }: SparseIndexPlan,
): SparseSource {
  if (sourceKey === null || metadata?.has(key) === true) return undefined;
  if (sourceKey === DOCUMENT_KEY) return document ?? undefined;
  const value = metadata?.get(sourceKey);
  if (value === undefined) return undefined;
  return typeof value === "string" ? value : null;
}

function describe({ records, positions }: Filling, record: number, what: string): string {
  return `${what} of record "${records[record]?.id}" (ids[${positions?.[record] ?? record}])`;
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

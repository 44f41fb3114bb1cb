/**
 * The `Embedder` that runs models on this machine. Refusals come in the order of the seam: unknown model, wrong kind,
 * weights absent, text too long, queue full. A vector depends on its text, instruction and model alone.
 */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import {
  LIMITS,
  type ModelIdentity,
  type ModelKind,
  SheafError,
  type SparseVector,
  throwIfAborted,
} from "@sheaf/protocol";
import { checkBm25Options } from "./bm25/bm25-options.ts";
import { ENGLISH_STOPWORDS } from "./bm25/stopwords.ts";
import type {
  DenseEmbeddings,
  Embedder,
  EmbedOptions,
  EmbedRequest,
  ModelInfo,
  SparseEmbeddings,
  SplitRequest,
  TermSearch,
} from "./embedder.ts";
import { LocalModel, type LocalModelOptions, planOf } from "./local-model.ts";
import { AutoPull } from "./models/auto-pull.ts";
import { BatchSizeStore } from "./models/batch-size-store.ts";
import {
  type AbsentModel,
  type ConfiguredModel,
  findModelFolder,
  modelFilesUnusable,
  type ModelFolder,
  modelUnavailable,
} from "./models/model-folder.ts";
import { ModelMemory } from "./models/model-memory.ts";
import { MODEL_REGISTRY, modelEntry, type ModelEntry } from "./models/model-registry.ts";
import { type HubOptions, ModelStore } from "./models/model-store.ts";
import { DEFAULT_HANG_AFTER_MS } from "./replica/model-replica.ts";
import type { PooledVector } from "./replica/replica-messages.ts";
import type { BatchReport } from "./scheduler/scheduler.ts";
import type { BatchPolicy } from "./scheduler/take-batch.ts";
import { firstBytes } from "./tokenize/cut-text.ts";
import { TextWorkerPool } from "./tokenize/text-worker-pool.ts";

const UNTIL_THEN =
  "Until they are on the server, trying again does not help; from then on it does, without a restart";

export interface EmbedderOptions {
  /** Identifier -> folder with its weights, for models that do not come with Sheaf (or to replace the one that does). */
  readonly models?: Readonly<Record<string, ConfiguredModel>>;
  /** Where other weights are looked for and fetched. Default: nowhere. */
  readonly hub?: HubOptions;
  /** Fetch an absent model at its first use; the request is 503 until it is here. Needs `hub`. Default `false`. */
  readonly autoPull?: boolean;
  /** For all loaded models together, in bytes. Default: six tenths of what this machine or its container has. */
  readonly memoryBytes?: number;
  /** Identifiers of models that are never unloaded. */
  readonly pinned?: readonly string[];
  /** Processes per model, of one thread each. Default: one per core, at most 4. */
  readonly replicas?: number;
  /** Tokenizer threads. Default 1; each holds every used tokenizer. */
  readonly tokenizerWorkers?: number;
  /** Padded tokens of one batch. Default: measured at a model's first load. */
  readonly batchTokens?: number;
  /** Tokens that may wait for one model in each lane. Default `LIMITS.queuedTokens`. */
  readonly queuedTokens?: number;
  /** No run is taken for hung before this. Default 30 s. */
  readonly hangAfterMs?: number;
  /**
   * Folder for graphs that are made from a model's files; best on the file system of the models. Default: a temporary
   * one, removed on close.
   */
  readonly workFolder?: string;
  /** One line for the log: a replica that ended, a model that cannot be loaded. */
  readonly onEvent?: (message: string) => void;
  /** Which waiting texts run together. Default: those of like lengths. Benchmarks compare it with others. */
  readonly policy?: BatchPolicy;
  /** Told of every batch that a model has answered. */
  readonly onBatch?: (batch: BatchReport) => void;
  /** Told of each start of a model, which its first request waits for. */
  readonly onLoad?: (model: string, milliseconds: number) => void;
  /** Told of every unexpected end of a model's process, by model. */
  readonly onReplicaDeath?: (model: string) => void;
}

const MAX_DEFAULT_REPLICAS = 4;
/** The rest is for the search engine and the system's file cache. */
const MEMORY_SHARE = 0.6;
/** To be raised whenever texts get other terms or weights than before. */
const BM25_REVISION = "1";
/** BM25 has no weights. What decides its vectors, beside the settings a collection keeps, stands in for them. */
const BM25_IDENTITY: ModelIdentity = Object.freeze({
  identifier: "sheaf/bm25",
  revision: BM25_REVISION,
  digest: `sha256:${createHash("sha256")
    .update([BM25_REVISION, ...ENGLISH_STOPWORDS].join("\n"))
    .digest("hex")}`,
});

/** Memory for models where nothing else is said, in bytes. */
export function defaultModelMemory(): number {
  const container = process.constrainedMemory();
  // 0 or an absurd number where no limit is set.
  const available = container > 0 ? Math.min(container, totalmem()) : totalmem();
  return Math.floor(MEMORY_SHARE * available);
}

/** An embedder for the models of this machine. Nothing is started before its first use; `close` ends it all. */
export function createEmbedder(options: EmbedderOptions = {}): Embedder {
  return new LocalEmbedder(options);
}

export class LocalEmbedder implements Embedder {
  readonly #configured: Readonly<Record<string, ConfiguredModel>>;
  readonly #pool: TextWorkerPool;
  readonly #modelOptions: LocalModelOptions;
  readonly #cacheFolder: string | null;
  /** `null`: weights are not fetched at all. */
  readonly #pulls: AutoPull | null;
  /** Absent weights are fetched at the first use of their model. */
  readonly #pullsAlone: boolean;
  readonly #models = new Map<string, LocalModel>();
  readonly #onEvent: (message: string) => void;
  /** What was said of files that cannot be used, so that each is said once and not at every request. */
  readonly #told = new Set<string>();
  #temporaryFolder: Promise<string> | null = null;
  #closed = false;

  /** Throws 400 for a configured model that is not in the registry. */
  constructor(options: EmbedderOptions = {}) {
    this.#configured = options.models ?? {};
    const pinned = new Set(options.pinned);
    for (const identifier of [...Object.keys(this.#configured), ...pinned]) modelEntry(identifier);
    const onEvent = (this.#onEvent = options.onEvent ?? (() => {}));
    this.#pool = new TextWorkerPool({
      workers: options.tokenizerWorkers ?? 1,
      onUnexpected: (detail) => onEvent(`a tokenizer worker failed: ${detail}`),
    });
    const { workFolder, hub } = options;
    this.#cacheFolder = hub?.cacheFolder ?? null;
    const mayFetch = hub !== undefined && hub.offline !== true;
    this.#pulls = mayFetch ? new AutoPull({ store: new ModelStore({ hub }), onEvent }) : null;
    this.#pullsAlone = options.autoPull === true;
    const memoryBytes = options.memoryBytes ?? defaultModelMemory();
    this.#modelOptions = {
      replicas: options.replicas ?? Math.min(availableParallelism(), MAX_DEFAULT_REPLICAS),
      batchTokens: options.batchTokens ?? null,
      batchSizes: workFolder === undefined ? null : new BatchSizeStore(workFolder),
      memory: new ModelMemory(memoryBytes),
      memoryBytes,
      pinned,
      queuedTokens: options.queuedTokens ?? LIMITS.queuedTokens,
      hangAfterMs: options.hangAfterMs ?? DEFAULT_HANG_AFTER_MS,
      workFolder: () =>
        workFolder === undefined ? this.#makeTemporaryFolder() : Promise.resolve(workFolder),
      onEvent,
      policy: options.policy,
      onBatch: options.onBatch,
      onLoad: options.onLoad,
      onReplicaDeath: options.onReplicaDeath,
    };
    // Whoever has named a folder hears at the start, and not from callers, that it cannot be used.
    for (const identifier of Object.keys(this.#configured)) {
      const folder = this.#find(modelEntry(identifier));
      if ("missing" in folder) this.#tell(identifier, folder.missing);
    }
  }

  models(): readonly ModelInfo[] {
    return [...MODEL_REGISTRY.values()].map((entry) => this.#info(entry));
  }

  model(identifier: string): ModelInfo {
    return this.#info(modelEntry(identifier));
  }

  pull(identifier: string): void {
    this.#checkOpen();
    const entry = modelEntry(identifier);
    if (entry.hub === null) {
      throw new SheafError("invalid_argument", `${identifier} is part of Sheaf and has no weights to fetch`);
    }
    if (this.#info(entry).available) return;
    if (this.#configured[identifier] !== undefined)
      throw new SheafError("failed_precondition", `${identifier} is taken from a folder of its own`);
    if (this.#pulls === null)
      throw new SheafError("failed_precondition", "this server does not connect to fetch weights");
    this.#pulls.begin(identifier);
  }

  async identity(identifier: string): Promise<ModelIdentity> {
    const entry = modelEntry(identifier);
    if (entry.head === "bm25") return BM25_IDENTITY;
    return this.#open(entry).identity();
  }

  async dense(request: EmbedRequest, options: EmbedOptions = {}): Promise<DenseEmbeddings> {
    const entry = this.#entryOfKind(request.model, "dense");
    const model = this.#open(entry);
    const dimension = model.folder.dimension ?? 0;
    await requireWeights(model, request);
    throwIfAborted(options.signal);
    if (request.texts.length === 0) return { dimension, vectors: [], numTokens: 0, truncatedInputs: 0 };
    const { ids, numTokens, truncatedInputs, ...embedded } = await model.embed(request, options);
    const vectors = embedded.vectors.map(asDense);
    const dense = { vectors, dimension: vectors[0]?.length ?? dimension, numTokens, truncatedInputs };
    return { ...dense, ...(await tokensOf(model, ids, request.tokens)) };
  }

  async sparse(request: EmbedRequest, options: EmbedOptions = {}): Promise<SparseEmbeddings> {
    const entry = this.#entryOfKind(request.model, "sparse");
    throwIfAborted(options.signal);
    if (entry.head === "bm25") return this.#bm25(request, options);
    const model = this.#open(entry);
    await requireWeights(model, request);
    if (request.texts.length === 0) return { vectors: [], numTokens: 0, truncatedInputs: 0 };
    const { ids, numTokens, truncatedInputs, ...embedded } = await model.embed(request, options);
    const labels = await model.labels();
    const vectors = embedded.vectors.map((vector) => labelled(asSparse(vector), labels));
    return { vectors, numTokens, truncatedInputs, ...(await tokensOf(model, ids, request.tokens)) };
  }

  async findTerms(
    { model, texts, terms, limit, bm25 = {} }: TermSearch,
    options: EmbedOptions = {},
  ): Promise<readonly Uint32Array[] | null> {
    if (modelEntry(model).head !== "bm25") return null;
    this.#checkOpen();
    checkBm25Options(bm25);
    const cut = texts.map((text) => firstBytes(text, LIMITS.textBytes));
    return this.#pool.findTerms(cut, { terms, options: bm25, limit }, options);
  }

  async split(request: SplitRequest, options: EmbedOptions = {}): Promise<Uint32Array> {
    const entry = this.#entryOfKind(request.model, "dense");
    return this.#open(entry).split(request, options);
  }

  /** Process ids of a model's replicas, for those who watch or kill them. */
  replicaPids(identifier: string): Promise<readonly number[]> {
    return this.#open(modelEntry(identifier)).replicaPids();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([
      this.#pulls?.close(),
      this.#pool.close(),
      ...[...this.#models.values()].map((model) => model.close()),
    ]);
    if (this.#temporaryFolder !== null)
      await rm(await this.#temporaryFolder, { recursive: true, force: true });
  }

  async #bm25(request: EmbedRequest, options: EmbedOptions): Promise<SparseEmbeddings> {
    this.#checkOpen();
    const bm25 = request.bm25 ?? {};
    checkBm25Options(bm25);
    const texts = request.texts.map((text) => firstBytes(text, LIMITS.textBytes));
    const truncatedInputs = texts.filter(
      (text, index) => text.length < (request.texts[index]?.length ?? 0),
    ).length;
    const { vectors, counts } = await this.#pool.bm25(texts, bm25, options);
    const numTokens = counts.reduce((sum, count) => sum + count, 0);
    await options.admitTokens?.(numTokens);
    const embeddings = { vectors, numTokens, truncatedInputs };
    if (request.tokens === undefined) return embeddings;
    const terms = new Uint32Array(new Set(vectors.flatMap(({ indices }) => [...indices])));
    const places = await this.#pool.findTerms(
      texts,
      { terms, options: bm25, limit: request.tokens },
      options,
    );
    const tokens = counts.map((count, i) => ({ count, pieces: wordsAt(texts[i]!, places[i]!) }));
    return { ...embeddings, tokens };
  }

  #entryOfKind(identifier: string, kind: ModelKind): ModelEntry {
    const entry = modelEntry(identifier);
    if (entry.kind === kind) return entry;
    throw new SheafError(
      "unimplemented",
      `the model ${identifier} makes ${entry.kind} embeddings, not ${kind} ones`,
    );
  }

  #info(entry: ModelEntry): ModelInfo {
    const { identifier, kind, queryModel } = entry;
    const idle = { memoryBytes: null, loaded: false, pull: null };
    const base = { identifier, kind, queryModel, ...idle };
    if (entry.head === "bm25") return { ...base, dimension: null, maxTokens: null, available: true };
    const folder = this.#find(entry);
    if ("missing" in folder) {
      const { dimension, maxTokens } = entry;
      const pull = this.#pulls?.progress(identifier) ?? null;
      return { ...base, dimension, maxTokens, available: false, pull };
    }
    const { maxTokens, replicas, replicaBytes } = planOf(folder, this.#modelOptions);
    const loaded = this.#models.get(identifier)?.loaded ?? false;
    const memoryBytes = replicas * replicaBytes;
    return { ...base, dimension: folder.dimension, maxTokens, available: true, memoryBytes, loaded };
  }

  #find(entry: ModelEntry): ModelFolder | AbsentModel {
    return (
      this.#models.get(entry.identifier)?.folder ??
      findModelFolder(entry, this.#configured[entry.identifier], this.#cacheFolder)
    );
  }

  /** 503 if the weights are absent. They may come later, so only what was found is remembered. */
  #open(entry: ModelEntry): LocalModel {
    this.#checkOpen();
    const known = this.#models.get(entry.identifier);
    if (known !== undefined) return known;
    const folder = this.#find(entry);
    if ("missing" in folder) throw this.#absent(entry, folder);
    const { head } = entry;
    if (head === "bm25") throw new SheafError("internal", `${entry.identifier} has no folder`);
    const model = new LocalModel({ entry: { ...entry, head }, folder, pool: this.#pool }, this.#modelOptions);
    this.#models.set(entry.identifier, model);
    return model;
  }

  #absent(entry: ModelEntry, { missing, command }: AbsentModel): SheafError {
    const fetchable = entry.hub !== null && this.#configured[entry.identifier] === undefined;
    if (this.#pulls !== null && this.#pullsAlone && fetchable) return this.#pulls.refusal(entry.identifier);
    if (missing !== command) this.#tell(entry.identifier, missing);
    if (command === null) return modelFilesUnusable(entry.identifier);
    return modelUnavailable(entry.identifier, `${command}. ${UNTIL_THEN}`);
  }

  #tell(identifier: string, problem: string): void {
    const message = `the model ${identifier} is not available: ${problem}`;
    if (!this.#told.has(message)) this.#onEvent(message);
    this.#told.add(message);
  }

  #checkOpen(): void {
    if (this.#closed) throw new SheafError("unavailable", "the embedder is shutting down");
  }

  #makeTemporaryFolder(): Promise<string> {
    this.#temporaryFolder ??= mkdtemp(join(tmpdir(), "sheaf-models-"));
    return this.#temporaryFolder;
  }
}

/** Those of a model that is open do not change, so what was checked holds for the whole call. */
async function requireWeights(model: LocalModel, { weights }: EmbedRequest): Promise<void> {
  if (weights === undefined) return;
  const { identifier, digest } = await model.identity();
  if (digest !== weights)
    throw new SheafError("model_mismatch", `${identifier} has other weights here than the call asks for`);
}

function asDense(vector: PooledVector): Float32Array {
  if (vector instanceof Float32Array) return vector;
  throw new SheafError("internal", "a dense model gave a sparse vector");
}

function asSparse(vector: PooledVector): SparseVector {
  if (!(vector instanceof Float32Array)) return vector;
  throw new SheafError("internal", "a sparse model gave a dense vector");
}

/** @param most Of each text; `undefined`: they were not asked for. */
async function tokensOf(
  model: LocalModel,
  ids: readonly ArrayLike<number>[],
  most: number | undefined,
): Promise<Pick<DenseEmbeddings, "tokens">> {
  if (most === undefined) return {};
  const labels = await model.labels();
  const pieces = (text: ArrayLike<number>): string[] =>
    Array.from({ length: Math.min(most, text.length) }, (_, i) => labels[text[i]!] ?? "");
  return { tokens: ids.map((text) => ({ count: text.length, pieces: pieces(text) })) };
}

/** @param places Start and end of each. */
function wordsAt(text: string, places: Uint32Array): string[] {
  return Array.from({ length: places.length / 2 }, (_, i) =>
    text.slice(places[2 * i], places[2 * i + 1]).toLowerCase(),
  );
}

function labelled(vector: SparseVector, labels: readonly string[]): SparseVector {
  return { ...vector, tokens: Array.from(vector.indices, (index) => labels[index] ?? "") };
}

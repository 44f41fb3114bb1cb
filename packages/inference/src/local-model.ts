/**
 * One model of this machine: its tokenizer, its replicas and the scheduler between. Everything is started at first use,
 * once for all who wait for it, and may be unloaded whenever no call is under way; the next use starts it again.
 */
import { LIMITS, SheafError, type ModelIdentity, abortable } from "@sheaf/protocol";
import type { EmbedOptions, EmbedRequest, SplitRequest } from "./embedder.ts";
import type { Head } from "./graph/pooling-head.ts";
import { type PreparedModel, prepareModelFolder } from "./graph/prepare-model.ts";
import type { BatchSizeStore } from "./models/batch-size-store.ts";
import { type MemoryPlan, planMemory } from "./models/memory-plan.ts";
import { type ModelFolder, modelFilesUnusable } from "./models/model-folder.ts";
import { gibibytes, type MemoryTenant, type ModelMemory, tooLarge } from "./models/model-memory.ts";
import type { ModelEntry } from "./models/model-registry.ts";
import { weightsDigest } from "./models/weights-digest.ts";
import { ModelReplica } from "./replica/model-replica.ts";
import type { PooledVector } from "./replica/replica-messages.ts";
import { calibrateBatch } from "./scheduler/calibrate-batch.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler/scheduler.ts";
import { firstCharacters, lastCharacters } from "./tokenize/cut-text.ts";
import { type LongText, MOST_REFUSED, type TextWorkerPool } from "./tokenize/text-worker-pool.ts";

/**
 * Characters of a text per token of the limit. No natural text comes near, so what is longer is over the limit without
 * the cost of tokenizing it (the bound of text-embeddings-inference).
 */
const CHARACTERS_PER_TOKEN = 250;
/** Until a model is measured: the activations of most stay in a core's cache. */
const DEFAULT_BATCH_TOKENS = 512;
/** Files that could not be prepared are not read again at every request. */
const PREPARE_COOLDOWN_MS = 5_000;

export interface LocalModelOptions extends Pick<SchedulerOptions<PooledVector>, "policy" | "onBatch"> {
  readonly replicas: number;
  /** `null`: measured at the first load. */
  readonly batchTokens: number | null;
  /** Where measured sizes are kept; `null`: nowhere. */
  readonly batchSizes: BatchSizeStore | null;
  readonly memory: ModelMemory;
  readonly memoryBytes: number;
  readonly pinned: ReadonlySet<string>;
  readonly queuedTokens: number;
  readonly hangAfterMs: number;
  readonly workFolder: () => Promise<string>;
  readonly onEvent: (message: string) => void;
  readonly onLoad: ((model: string, milliseconds: number) => void) | undefined;
  readonly onReplicaDeath: ((model: string) => void) | undefined;
}

export interface LocalModelParts {
  readonly entry: ModelEntry & { readonly head: Head };
  readonly folder: ModelFolder;
  readonly pool: TextWorkerPool;
}

/** Vectors of the texts in order, and what they cost. */
export interface Embedded {
  readonly vectors: readonly PooledVector[];
  readonly numTokens: number;
  readonly truncatedInputs: number;
  /** Of each text. */
  readonly ids: readonly ArrayLike<number>[];
}

interface TooLong {
  readonly index: number;
  /** `300 tokens`, or `90000 characters`. */
  readonly length: string;
}

interface Running {
  readonly scheduler: Scheduler<PooledVector>;
  readonly replicas: readonly ModelReplica[];
}

/** The plan of a model before it is opened. */
export function planOf(
  folder: ModelFolder,
  options: Pick<LocalModelOptions, "memoryBytes" | "replicas" | "batchTokens">,
): MemoryPlan {
  const { memoryBytes: budgetBytes, replicas, batchTokens } = options;
  return planMemory(folder, { budgetBytes, replicas, batchTokens: batchTokens ?? DEFAULT_BATCH_TOKENS });
}

export class LocalModel implements MemoryTenant {
  readonly #parts: LocalModelParts;
  readonly #options: LocalModelOptions;
  readonly #plan: MemoryPlan;
  readonly #prepared = new Once(() => this.#prepare(), PREPARE_COOLDOWN_MS);
  readonly #running = new Once(() => this.#start());
  readonly #identity = new Once(() => this.#identify());
  readonly #labels = new Once(() => this.#reading(this.#parts.pool.vocabulary(this.#parts.folder.tokenizer)));
  #batchTokens: number | null;
  #active = 0;
  #lastUsed = 0;
  #closed = false;

  constructor(parts: LocalModelParts, options: LocalModelOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#plan = planOf(parts.folder, options);
    this.#batchTokens = options.batchTokens;
  }

  get identifier(): string {
    return this.#parts.entry.identifier;
  }

  get bytes(): number {
    return this.#plan.replicas * this.#plan.replicaBytes;
  }

  get pinned(): boolean {
    return this.#options.pinned.has(this.identifier);
  }

  /** Its processes run, or are being started. */
  get loaded(): boolean {
    return this.#options.memory.holds(this);
  }

  get idle(): boolean {
    return this.#active === 0;
  }

  get lastUsed(): number {
    return this.#lastUsed;
  }

  get folder(): ModelFolder {
    return this.#parts.folder;
  }

  identity(): Promise<ModelIdentity> {
    return this.#identity.get();
  }

  /** The vocabulary's piece for each token, and for each index of a sparse vector. */
  labels(): Promise<readonly string[]> {
    return this.#labels.get();
  }

  /** Process ids of the replicas that run. */
  replicaPids(): Promise<readonly number[]> {
    return this.#running
      .get()
      .then(({ replicas }) => replicas.flatMap(({ pid }) => (pid === undefined ? [] : [pid])));
  }

  /** 413 (400 of a sparse model) for a text over the limit that may not be cut, 429 if too much waits, 503 if the weights cannot be loaded. */
  async embed(request: EmbedRequest, options: EmbedOptions): Promise<Embedded> {
    this.#active++;
    try {
      return await this.#embed(request, options);
    } finally {
      this.#active--;
      this.#lastUsed = performance.now();
      if (this.idle) this.#options.memory.noteIdle();
    }
  }

  /** As `Embedder.split`; needs the tokenizer alone. */
  split(
    { text, instruction, by, tokens, overlap, most }: SplitRequest,
    options: EmbedOptions,
  ): Promise<Uint32Array> {
    const { entry, folder, pool } = this.#parts;
    const lead = instruction === "" ? "" : (entry.prompt?.(instruction, "") ?? "");
    const size = Math.min(tokens, this.#plan.maxTokens);
    const splitting = { tokenizer: folder.tokenizer, lead, by, tokens: size, overlap, most };
    return this.#reading(pool.split(text, splitting, options));
  }

  /** Ends the replicas; the next use starts them again. */
  async unload(): Promise<void> {
    const running = this.#running.forget();
    if (running === null) return;
    this.#options.onEvent(`unloading the model ${this.identifier} to make room`);
    await end(await running.catch(() => null));
  }

  async #embed(request: EmbedRequest, options: EmbedOptions): Promise<Embedded> {
    const { signal, owner } = options;
    const { truncate } = request;
    const { entry, folder, pool } = this.#parts;
    const { maxTokens, replicaBytes } = this.#plan;
    if (this.#plan.tooLarge) throw tooLarge(this.identifier, replicaBytes, this.#options.memoryBytes);
    const maxCharacters = Math.min(CHARACTERS_PER_TOKEN * maxTokens, LIMITS.textBytes);
    const shortened = new Set<number>();
    const tooLong: TooLong[] = [];
    const instructed = entry.prompt !== null && request.instruction !== "";
    const prompt = (text: string): string =>
      instructed ? (entry.prompt?.(request.instruction, text) ?? text) : text;
    const lead = prompt("");
    const texts = request.texts.map((text, index) => {
      const whole = prompt(text);
      if (whole.length <= maxCharacters) return whole;
      if (truncate === "none") {
        tooLong.push({ index, length: `${whole.length} characters` });
        return "";
      }
      shortened.add(index);
      if (truncate === "end") return firstCharacters(whole, maxCharacters);
      return prompt(lastCharacters(text, Math.max(0, maxCharacters - lead.length)));
    });
    const refuse = (long: readonly LongText[]): SheafError => {
      const counted = long.map(({ index, count }) => ({ index, length: `${count} tokens` }));
      return this.#tooLong(request, [...tooLong, ...counted]);
    };
    if (tooLong.length >= MOST_REFUSED) throw this.#tooLong(request, tooLong);
    const job = { tokenizer: folder.tokenizer, texts, maxTokens, truncate, lead, refuse };
    const encoding = await this.#reading(pool.encode(job, { signal, owner }));
    if (tooLong.length > 0) throw this.#tooLong(request, tooLong);
    for (const index of encoding.cut) shortened.add(index);
    const numTokens = encoding.ids.reduce((sum, ids) => sum + ids.length, 0);
    await options.admitTokens?.(numTokens);
    const { scheduler } = await abortable(this.#running.get(), signal);
    const vectors = await scheduler.submit(encoding.ids, { signal, owner });
    return { vectors, numTokens, truncatedInputs: shortened.size, ids: encoding.ids };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await end(await this.#running.started());
  }

  /** Names the first texts over the limit, in their order. */
  #tooLong(request: EmbedRequest, all: readonly TooLong[]): SheafError {
    const texts = all.toSorted((a, b) => a.index - b.index).slice(0, MOST_REFUSED);
    const named = texts.map(
      ({ index, length }) => `${request.describe?.(index) ?? `texts[${index}]`}: ${length}`,
    );
    const { maxTokens, limitedByMemory } = this.#plan;
    const unit = texts.at(-1)?.length.endsWith("tokens") === true ? "" : " tokens";
    const why = limitedByMemory
      ? ` here: the model takes ${this.#parts.folder.maxTokens}, but longer texts do not fit its memory budget of ${gibibytes(this.#options.memoryBytes)}`
      : "";
    return new SheafError(
      this.#parts.entry.kind === "sparse" ? "invalid_argument" : "too_large",
      `${named.join(", ")}, the limit of ${this.identifier} is ${maxTokens}${unit}${why}; split the text${named.length > 1 ? "s" : ""}, or let ${named.length > 1 ? "them" : "it"} be cut with \`truncate\``,
    );
  }

  async #prepare(): Promise<PreparedModel> {
    const { entry, folder } = this.#parts;
    const workFolder = await this.#options.workFolder();
    return this.#reading(prepareModelFolder(folder.path, { head: entry.head, workFolder }));
  }

  /** Callers learn that files cannot be used, the operator which and why. */
  async #reading<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof SheafError && error.code === "model_unavailable")) throw error;
      this.#options.onEvent(`the model ${this.identifier} cannot be used: ${error.message}`);
      throw modelFilesUnusable(this.identifier, error);
    }
  }

  async #start(): Promise<Running> {
    const startedAt = performance.now();
    const { entry } = this.#parts;
    const { modelPath, inputs, output, padId } = await this.#prepared.get();
    await this.#options.memory.reserve(this);
    if (this.#closed) {
      this.#options.memory.release(this);
      throw new SheafError("unavailable", "the embedder is shutting down");
    }
    const spec = { modelPath, inputs, output, padId, sparse: entry.kind === "sparse" };
    const { hangAfterMs, onEvent, queuedTokens, policy, onBatch, onReplicaDeath } = this.#options;
    const common = { name: entry.identifier, spec, hangAfterMs, onEvent, onReplicaDeath };
    const replicas: ModelReplica[] = [];
    const runners = replicas;
    for (let index = 0; index < this.#plan.replicas; index++) {
      // One measures for all: what suits one core suits its neighbour.
      const onFirstLoad = async (run: Run): Promise<void> => {
        await this.#calibrate(run, scheduler);
        this.#options.onLoad?.(this.identifier, performance.now() - startedAt);
      };
      replicas.push(new ModelReplica(index === 0 ? { ...common, onFirstLoad } : common));
    }
    const batchTokens = this.#batchTokens ?? DEFAULT_BATCH_TOKENS;
    const scheduler = new Scheduler({
      name: entry.identifier,
      runners,
      batchTokens,
      queuedTokens,
      policy,
      onBatch,
    });
    return { scheduler, replicas };
  }

  async #calibrate(run: Run, scheduler: Scheduler<PooledVector>): Promise<void> {
    if (this.#batchTokens === null) {
      const { digest } = await this.identity();
      this.#batchTokens = (await this.#options.batchSizes?.get(digest)) ?? (await this.#measure(run, digest));
    }
    scheduler.setBatchTokens(this.#batchTokens);
  }

  async #measure(run: Run, digest: string): Promise<number> {
    const { maxTokens } = this.#plan;
    const batchTokens = await calibrateBatch({ run, maxTokens, clock: () => performance.now() });
    await this.#options.batchSizes?.set(digest, batchTokens).catch((error: unknown) => {
      this.#options.onEvent(`the batch size of ${this.identifier} could not be kept: ${String(error)}`);
    });
    return batchTokens;
  }

  async #identify(): Promise<ModelIdentity> {
    const { entry, folder } = this.#parts;
    const { sourceFiles } = await this.#prepared.get();
    return {
      identifier: entry.identifier,
      revision: folder.revision,
      digest: await this.#reading(weightsDigest(sourceFiles)),
    };
  }
}

type Run = (batch: readonly Int32Array[]) => Promise<unknown>;

async function end(running: Running | null): Promise<void> {
  running?.scheduler.close();
  await Promise.all((running?.replicas ?? []).map((replica) => replica.close()));
}

/** A value made at first use, once for all who wait; a failure is forgotten, at once or after a while. */
class Once<T> {
  readonly #make: () => Promise<T>;
  readonly #cooldownMs: number;
  #value: Promise<T> | null = null;
  #failedAtMs: number | null = null;

  constructor(make: () => Promise<T>, cooldownMs = 0) {
    this.#make = make;
    this.#cooldownMs = cooldownMs;
  }

  get(): Promise<T> {
    if (this.#failedAtMs !== null && performance.now() - this.#failedAtMs >= this.#cooldownMs)
      void this.forget();
    if (this.#value === null) {
      const value = this.#make();
      this.#value = value;
      value.catch(() => {
        if (this.#value !== value) return;
        if (this.#cooldownMs === 0) void this.forget();
        else this.#failedAtMs = performance.now();
      });
    }
    return this.#value;
  }

  /** The value, which the next `get` makes anew; `null` if there is none. */
  forget(): Promise<T> | null {
    const value = this.#value;
    this.#value = null;
    this.#failedAtMs = null;
    return value;
  }

  /** The value if its making has begun and succeeds, else `null`. */
  async started(): Promise<T | null> {
    return this.#value === null ? null : this.#value.catch(() => null);
  }
}

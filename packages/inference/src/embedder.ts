/**
 * Texts to vectors, whatever stands behind a model. The server joins this with the engine; neither knows the other.
 * Refusals, in this order: 400 unknown model, 501 wrong kind, 503 weights absent, 413 too long (400 of
 * sparse models), 429 queue full.
 */
import type {
  CancelSignal,
  ChunkedBy,
  ModelIdentity,
  ModelKind,
  SparseVector,
  Truncation,
} from "@sheaf/protocol";

export interface EmbedOptions {
  /** Whose share of the queues the call uses: owners are served in turn, and their queues are bounded apart. Default: one for all. */
  readonly owner?: string | undefined;
  readonly signal?: CancelSignal | undefined;
  /** Told how many tokens the texts have, before a model runs; what it throws refuses the call. */
  admitTokens?(count: number): Promise<void>;
}

export interface Bm25Options {
  readonly k?: number;
  readonly b?: number;
  readonly averageDocumentLength?: number;
  readonly tokenMaxLength?: number;
  readonly stopwords?: readonly string[];
  /** How often each term occurs, and not its weight; `k`, `b` and the length say nothing then. */
  readonly frequencies?: boolean;
}

export interface EmbedRequest {
  /** Model identifier, e.g. `sentence-transformers/all-MiniLM-L6-v2`. */
  readonly model: string;
  readonly texts: readonly string[];
  /** Task sentence for models that take one; empty: none. */
  readonly instruction: string;
  /** Of a text over the model's limit; an instruction is never cut. */
  readonly truncate: Truncation;
  /** Names text `i` in a refusal: `texts[3]`, `record "a" of documents`. */
  readonly describe?: (index: number) => string;
  readonly bm25?: Bm25Options;
  /** Digest of the weights that have to make the vectors; with others the call is 409. Default: whichever are there. */
  readonly weights?: string;
  /** Tokens of each text that are to come along at most. Default: the embeddings come without. */
  readonly tokens?: number;
}

export interface EmbedUsage {
  /** Special tokens and instruction counted, padding not. */
  readonly numTokens: number;
  /** Texts that were cut. */
  readonly truncatedInputs: number;
  /** Of each text; only where they were asked for. */
  readonly tokens?: readonly TextTokens[];
}

/** What a model read of a text. */
export interface TextTokens {
  /** All of them, special ones and the instruction too. Of `sheaf/bm25` the words that count. */
  readonly count: number;
  /** The first ones, as the vocabulary has them. Of `sheaf/bm25` as the text has them, in small letters. */
  readonly pieces: readonly string[];
}

export interface DenseEmbeddings extends EmbedUsage {
  readonly dimension: number;
  /** One per text, in order, unit length where the model normalises. */
  readonly vectors: readonly Float32Array[];
}

export interface SparseEmbeddings extends EmbedUsage {
  /** One per text, in order; `tokens` are the labels. */
  readonly vectors: readonly SparseVector[];
}

/** Where texts have terms of sparse vectors. */
export interface TermSearch {
  readonly model: string;
  readonly texts: readonly string[];
  /** Indices of vectors of the model. */
  readonly terms: Uint32Array;
  /** Words of each text that are found at most, the first ones. */
  readonly limit: number;
  readonly bm25?: Bm25Options;
}

/** A text to be cut into chunks that its model takes. */
export interface SplitRequest {
  readonly model: string;
  readonly text: string;
  /** As of the embedding of the chunks. */
  readonly instruction: string;
  readonly by: ChunkedBy;
  /** Tokens of a chunk at most, what the model adds included; never more than the model takes. */
  readonly tokens: number;
  /** Tokens at the end of a chunk that the next one begins with at most. */
  readonly overlap: number;
  /** Chunks at most; behind them the text is not looked at. */
  readonly most: number;
}

export interface ModelInfo {
  readonly identifier: string;
  readonly kind: ModelKind;
  /** Length of a dense vector; `null` for sparse models. */
  readonly dimension: number | null;
  /** Longest text in tokens; `null`: no limit. */
  readonly maxTokens: number | null;
  /** The model for queries where it differs from the one for documents. */
  readonly queryModel: string | null;
  readonly available: boolean;
  /** What it takes while it is loaded, in bytes; `null`: nothing, or its weights are absent. */
  readonly memoryBytes: number | null;
  /** Whether it takes that now. */
  readonly loaded: boolean;
  /** Of its weights, where they were asked for and are not here. */
  readonly pull: ModelPull | null;
}

export type ModelPull =
  | { readonly state: "pulling"; readonly receivedBytes: number; readonly totalBytes: number }
  | { readonly state: "failed" };

export interface Embedder {
  models(): readonly ModelInfo[];
  /** Throws 400 for an identifier that is not one of ours. */
  model(identifier: string): ModelInfo;
  /** Identifier, revision and weights digest; 503 if the weights are absent. */
  identity(identifier: string): Promise<ModelIdentity>;
  /**
   * Begins to fetch the weights of a model, unless they are here or on their way; `model` says how far that is. 400 for an
   * unknown model or one without weights, 412 where this server cannot fetch them.
   */
  pull(identifier: string): void;
  dense(request: EmbedRequest, options?: EmbedOptions): Promise<DenseEmbeddings>;
  sparse(request: EmbedRequest, options?: EmbedOptions): Promise<SparseEmbeddings>;
  /**
   * By text, start and end of each word that has one of the terms, in UTF-16 units. As in a vector, what is cut from a text
   * has none. `null` for models whose terms are no words of the text: all but `sheaf/bm25`.
   */
  findTerms(search: TermSearch, options?: EmbedOptions): Promise<readonly Uint32Array[] | null>;
  /**
   * Start and end of each chunk, in UTF-16 units, at least one. Each begins at or before the end of the one before; the first
   * begins at 0 and the last ends with the text, unless that has more than `most`. 501 for a sparse model.
   */
  split(request: SplitRequest, options?: EmbedOptions): Promise<Uint32Array>;
  close(): Promise<void>;
}

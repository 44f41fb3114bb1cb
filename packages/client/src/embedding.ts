/** Text to vectors without a collection. */
import { type MembersOf, requireKnown } from "./require-known.ts";
import { CALL, type CallOptions, type ClientRequest } from "./transport.ts";

/** Any other text is taken, too, for servers with models of their own names. */
export type DenseModel =
  | "sentence-transformers/all-MiniLM-L6-v2"
  | "BAAI/bge-m3"
  | "Qwen/Qwen3-Embedding-0.6B"
  | (string & {});
export type SparseModel =
  | "sheaf/bm25"
  | "prithivida/Splade_PP_en_v1"
  | "naver/efficient-splade-VI-BT-large-doc"
  | "naver/efficient-splade-VI-BT-large-query"
  | (string & {});

export interface EmbedParams<Model extends string = DenseModel> extends CallOptions {
  readonly model: Model;
  readonly texts: readonly string[];
  /** Task sentence for models that take one. */
  readonly instructions?: string | undefined;
  /** A named task, instead of `instructions`; beside it stands `target`. */
  readonly task?: string | undefined;
  readonly target?: "documents" | "query" | "" | undefined;
  /** What a text over the model's limit loses; `none`: it is refused. `embed`: `none` if omitted, `embedSparse`: `end`. */
  readonly truncate?: "none" | "end" | "start" | undefined;
  /** With what the model reads of each text; at most 100 texts then. `false` if omitted. */
  readonly pieces?: boolean | undefined;
}

export interface EmbedSparseParams extends EmbedParams<SparseModel> {
  /** With the term behind each index; `true` if omitted. */
  readonly labels?: boolean | undefined;
}

export interface SparseEmbedding {
  readonly indices: readonly number[];
  readonly values: readonly number[];
  readonly labels?: readonly string[] | null;
}

/** What a model read of a text. */
export interface TextTokens {
  /** With special tokens and the instruction; for `sheaf/bm25` the words that count. */
  readonly count: number;
  /** The first 1,000, as the vocabulary of the model has them; for `sheaf/bm25` as the text has them, in small letters. */
  readonly pieces: readonly string[];
}

export interface Embeddings<E> {
  /** One for each text. */
  readonly embeddings: readonly E[];
  /** With special tokens and the instruction, without padding; for `sheaf/bm25` the terms. */
  readonly numTokens: number;
  /** Texts that were over the model's limit and have been cut. */
  readonly truncatedInputs: number;
  /** One for each text, where `pieces` asked for them. */
  readonly tokens?: readonly TextTokens[];
}

const EMBED: MembersOf<EmbedParams> = {
  model: true,
  texts: true,
  instructions: true,
  task: true,
  target: true,
  truncate: true,
  pieces: true,
  ...CALL,
};
const EMBED_SPARSE: MembersOf<EmbedSparseParams> = { ...EMBED, labels: true };

export interface EmbedReply<E> {
  readonly embeddings: readonly E[];
  readonly num_tokens: number;
  readonly tokens?: readonly TextTokens[];
}

export function denseRequest(params: EmbedParams): ClientRequest {
  return request("/embed", requireKnown(params, EMBED, "params"), undefined);
}

export function sparseRequest(params: EmbedSparseParams): ClientRequest {
  const { labels = true, ...rest } = requireKnown(params, EMBED_SPARSE, "params");
  return request("/embed_sparse", rest, labels);
}

function request(path: string, params: EmbedParams, labels: boolean | undefined): ClientRequest {
  const { model, texts, instructions, task, target, truncate, pieces } = params;
  const isNamed = task !== undefined || target !== undefined;
  return {
    method: "POST",
    path,
    headers: { "x-service-embedding-model": model },
    json: {
      ...{ texts, truncate, fetch_labels: labels, fetch_pieces: pieces },
      ...(isNamed ? { task: task ?? "", target: target ?? "" } : {}),
      ...(instructions === undefined && isNamed ? {} : { instructions: instructions ?? "" }),
    },
  };
}

export function embeddings<E>({
  value: { embeddings: items, num_tokens, tokens },
  headers,
}: {
  readonly value: EmbedReply<E>;
  readonly headers: Headers;
}): Embeddings<E> {
  const truncatedInputs = Number(headers.get("x-truncated-inputs") ?? 0);
  const read = { embeddings: items, numTokens: num_tokens, truncatedInputs };
  return tokens === undefined ? read : { ...read, tokens };
}

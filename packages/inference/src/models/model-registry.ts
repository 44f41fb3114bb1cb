/**
 * The models Sheaf knows, and what is true of each whatever its files say: what it makes, how it pools, what it is told
 * before a text. Limits and dimensions found in a model's own folder win where they are smaller or differ.
 */
import { MODEL_KINDS, type ModelKind, describeUnknownModel, invalid } from "@sheaf/protocol";
import type { Head } from "../graph/pooling-head.ts";

/** Where weights are published: the repository of the model's identifier on a hub. */
interface HubWeights {
  /** Commit that Sheaf was built for; `null`: not pinned, what `main` is at the first pull is recorded. */
  readonly revision: string | null;
}

/** Where weights come with the product: a package that is installed beside this one. */
interface BundledWeights {
  readonly packageName: string;
  /** Names these very weights, which are not the published ones to the bit. */
  readonly revision: string;
}

export interface ModelEntry {
  readonly identifier: string;
  readonly kind: ModelKind;
  /** `bm25`: computed from the text alone, no weights. */
  readonly head: Head | "bm25";
  /** Length of a dense vector; `null` for sparse models. */
  readonly dimension: number | null;
  /** Longest text in tokens, special ones included; `null`: no limit. */
  readonly maxTokens: number | null;
  /** Puts a task sentence before a text; `null`: the model takes none. */
  readonly prompt: ((instruction: string, text: string) => string) | null;
  /** The model for queries where it is another one. */
  readonly queryModel: string | null;
  readonly bundled: BundledWeights | null;
  /** `null`: there is nothing to fetch. */
  readonly hub: HubWeights | null;
}

const QUERY_SPLADE = "naver/efficient-splade-VI-BT-large-query";

const UNPINNED: HubWeights = { revision: null };
const PLAIN = { prompt: null, queryModel: null, bundled: null, hub: UNPINNED } as const;
/** Width of a sparse model's vectors is its vocabulary's, which its folder tells. */
const SPLADE = { ...PLAIN, head: "splade", dimension: null, maxTokens: 512 } as const;

/** The kind comes from the protocol's table, which the compiler holds complete by the identifier. */
const ENTRIES: readonly (Omit<ModelEntry, "kind"> & { readonly identifier: keyof typeof MODEL_KINDS })[] = [
  {
    ...PLAIN,
    identifier: "Qwen/Qwen3-Embedding-0.6B",
    head: "last",
    dimension: 1_024,
    // Attention takes memory by the square of it, so on most machines the memory budget sets a lower limit.
    maxTokens: 32_768,
    // As the authors' code has it: no space after `Query:`.
    prompt: (instruction, text) => `Instruct: ${instruction}\nQuery:${text}`,
    hub: { revision: "97b0c614be4d77ee51c0cef4e5f07c00f9eb65b3" },
  },
  {
    ...PLAIN,
    identifier: "BAAI/bge-m3",
    head: "cls",
    dimension: 1_024,
    maxTokens: 8_192,
    hub: { revision: "5617a9f61b028005a4858fdac845db406aefb181" },
  },
  {
    ...PLAIN,
    identifier: "sentence-transformers/all-MiniLM-L6-v2",
    head: "mean",
    dimension: 384,
    // What it was trained and published with; its position table has 512 rows, its tokenizer file says 128.
    maxTokens: 256,
    bundled: { packageName: "@sheaf/model-minilm", revision: "1110a243-f16" },
    hub: { revision: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41" },
  },
  { ...SPLADE, identifier: "prithivida/Splade_PP_en_v1" },
  { ...SPLADE, identifier: "naver/efficient-splade-VI-BT-large-doc", queryModel: QUERY_SPLADE },
  { ...SPLADE, identifier: QUERY_SPLADE },
  {
    ...PLAIN,
    identifier: "sheaf/bm25",
    head: "bm25",
    dimension: null,
    maxTokens: null,
    hub: null,
  },
];

/** identifier -> entry, in the order of the documentation. */
export const MODEL_REGISTRY: ReadonlyMap<string, ModelEntry> = new Map(
  ENTRIES.map((entry) => [
    entry.identifier,
    Object.freeze({ ...entry, kind: MODEL_KINDS[entry.identifier] }),
  ]),
);

/** Throws 400 for an identifier that is not in the registry. */
export function modelEntry(identifier: string): ModelEntry {
  const entry = MODEL_REGISTRY.get(identifier);
  if (entry !== undefined) return entry;
  throw invalid("", describeUnknownModel(identifier));
}

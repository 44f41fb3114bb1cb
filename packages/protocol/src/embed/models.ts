/**
 * The models that Sheaf knows and which kind of vector each makes. It stands here, and not with the models themselves, so that
 * a description of a collection is checked wherever its body is parsed.
 */
export type ModelKind = "dense" | "sparse";

/** Identifier -> kind, in the order of the documentation. */
export const MODEL_KINDS = Object.freeze({
  "Qwen/Qwen3-Embedding-0.6B": "dense",
  "BAAI/bge-m3": "dense",
  "sentence-transformers/all-MiniLM-L6-v2": "dense",
  "prithivida/Splade_PP_en_v1": "sparse",
  "naver/efficient-splade-VI-BT-large-doc": "sparse",
  "naver/efficient-splade-VI-BT-large-query": "sparse",
  "sheaf/bm25": "sparse",
} as const satisfies Readonly<Record<string, ModelKind>>);

/** Longest part of an unknown identifier that is said back. */
const SHOWN_CHARACTERS = 100;

/** `null`: Sheaf does not know the model. */
export function kindOfModel(identifier: string): ModelKind | null {
  return Object.hasOwn(MODEL_KINDS, identifier) ? MODEL_KINDS[identifier as keyof typeof MODEL_KINDS] : null;
}

/** What a refusal says of a model that Sheaf does not know. */
export function describeUnknownModel(identifier: string): string {
  const shown = JSON.stringify(identifier.slice(0, SHOWN_CHARACTERS));
  return `unknown embedding model ${shown}; known models: ${Object.keys(MODEL_KINDS).join(", ")}`;
}

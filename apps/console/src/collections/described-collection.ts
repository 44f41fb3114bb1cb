/** What a form says of a new collection, as the API takes it. */
import { type Chunking, type CreateCollectionParams, type Space, hybridSchema } from "@sheaf/client";

export const EMBEDDINGS = {
  hybrid: "dense and BM25, by the server",
  dense: "dense, by the server",
  none: "none: records bring their vectors",
} as const;
export type Embedding = keyof typeof EMBEDDINGS;

export const CUTS = {
  none: "not at all",
  headings: "by Markdown headings",
  sentences: "by sentences",
  tokens: "between words",
} as const;
export type Cut = keyof typeof CUTS;

export const SPACES: readonly Space[] = ["cosine", "l2", "ip"];

export interface Described {
  readonly name: string;
  readonly embedding: Embedding;
  readonly space: Space;
  /** A dense model; of no use without an embedding. */
  readonly model: string;
  readonly cut: Cut;
  /** Tokens of a chunk at most; `null`: as the server does. */
  readonly size: number | null;
}

export function createParams(described: Described): CreateCollectionParams {
  const { name, embedding, space, model } = described;
  if (embedding === "none") return { name, configuration: { hnsw: { space } } };
  const chunking = chunkingOf(described);
  const schema = hybridSchema({ model, space, ...(chunking !== null && { chunking }) });
  if (embedding === "hybrid") return { name, schema };
  const { "#embedding": dense = {} } = schema.keys ?? {};
  return { name, schema: { ...schema, keys: { "#embedding": dense } } };
}

function chunkingOf({ cut, size }: Described): Chunking | null {
  if (cut === "none") return null;
  return { by: cut, ...(size !== null && { size }) };
}

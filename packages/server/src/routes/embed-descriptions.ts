/** What the description of the embedding interface says of its routes. */
import type { ReplyDescription, RouteDescription } from "../http/route-description.ts";
import { ref, words } from "../openapi/schema-parts.ts";

const MODELS = [
  "Qwen/Qwen3-Embedding-0.6B",
  "BAAI/bge-m3",
  "sentence-transformers/all-MiniLM-L6-v2",
  "prithivida/Splade_PP_en_v1",
  "naver/efficient-splade-VI-BT-large-doc",
  "naver/efficient-splade-VI-BT-large-query",
  "sheaf/bm25",
];

const EMBED = {
  tag: "Embedding",
  headers: {
    "x-service-embedding-model": words(MODELS, "Identifier of the model."),
  },
  body: ref("EmbedBody"),
  errors: ["rate_limited", "unimplemented", "model_unavailable"],
} as const satisfies Partial<RouteDescription>;

const headers = {
  "x-truncated-inputs": "How many of the texts were over the model's limit and have been cut.",
};
const dense: ReplyDescription = {
  description: "One vector per text.",
  schema: ref("DenseEmbeddings"),
  headers,
};
const sparse: ReplyDescription = {
  description: "One sparse vector per text.",
  schema: ref("SparseEmbeddings"),
  headers,
};

export const EMBEDDING = {
  dense: {
    ...EMBED,
    summary: "Generate dense embeddings",
    details: "A text over the limit of the model is refused with 413, unless `truncate` lets it be cut.",
    replies: { 200: dense },
  },
  sparse: {
    ...EMBED,
    summary: "Generate sparse embeddings",
    details:
      'A text over the limit of the model is cut, and the reply says how many were; with `truncate: "none"` it is 400.',
    replies: { 200: sparse },
  },
} as const satisfies Record<string, RouteDescription>;

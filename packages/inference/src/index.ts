export type {
  Bm25Options,
  DenseEmbeddings,
  Embedder,
  EmbedOptions,
  EmbedRequest,
  EmbedUsage,
  ModelInfo,
  ModelPull,
  SparseEmbeddings,
  TextTokens,
} from "./embedder.ts";
export { createEmbedder, LocalEmbedder, type EmbedderOptions } from "./local-embedder.ts";
export {
  ClusterEmbedder,
  type ClusterEmbedderOptions,
  type EmbedNodeMeasure,
} from "./cluster/cluster-embedder.ts";
export { embedService } from "./cluster/embed-service.ts";
export type { BatchReport } from "./scheduler/scheduler.ts";
export type { BatchPolicy, QueuedText } from "./scheduler/take-batch.ts";
export type { ConfiguredModel } from "./models/model-folder.ts";
export type { PullProgress } from "./hub/pull-model.ts";
export type { VerifiedFile } from "./hub/verify-files.ts";
export { type HubOptions, type ModelState, ModelStore } from "./models/model-store.ts";

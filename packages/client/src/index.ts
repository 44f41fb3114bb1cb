export {
  SheafClient,
  type CreateCollectionParams,
  type DatabaseInfo,
  type EmbedParams,
  type PageParams,
  type SheafClientOptions,
  type SparseEmbedding,
} from "./client.ts";
export {
  Collection,
  type CollectionInfo,
  type DeleteSelector,
  type Hit,
  type MetadataJson,
  type RecordInput,
  type SearchParams,
  type WhereJson,
} from "./collection.ts";
export {
  AuthorizationError,
  BusyError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  SheafApiError,
  TooLargeError,
  UnreachableError,
} from "./errors.ts";
export {
  knn,
  rrf,
  type KnnExpression,
  type KnnParams,
  type RankExpression,
  type RrfParams,
  type SparseVectorJson,
} from "./rank.ts";
export { hybridSchema, type HybridSchemaParams } from "./schema.ts";
export type { RequestOptions } from "./transport.ts";

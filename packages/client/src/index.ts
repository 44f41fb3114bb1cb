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
  Aggregate,
  type AggregateInput,
  type AggregateJson,
  GroupBy,
  type GroupByInput,
  type GroupByJson,
  MaxK,
  MinK,
} from "./search/group-by.ts";
export { K, Key, type KeyInput, type KeyName } from "./search/key.ts";
export { Knn, knn, type KnnParams } from "./search/knn.ts";
export { Limit, type LimitInput, type LimitJson, type LimitOptions } from "./search/limit.ts";
export {
  Abs,
  Div,
  Exp,
  type KnnJson,
  Log,
  Max,
  Min,
  Mul,
  RankExpression,
  type RankInput,
  type RankJson,
  type SparseVectorJson,
  Sub,
  Sum,
  Val,
} from "./search/rank.ts";
export { type ChromaRrfParams, Rrf, rrf, type RrfParams } from "./search/rrf.ts";
export { Search, type SearchInit, type SearchLike, type SearchPayload, toSearch } from "./search/search.ts";
export { Select, type SelectInput, type SelectJson } from "./search/select.ts";
export { WhereExpression, type WhereInput, type WhereJson } from "./search/where.ts";
export { hybridSchema, type HybridSchemaParams } from "./schema.ts";
export type { RequestOptions } from "./transport.ts";

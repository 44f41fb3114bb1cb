export type {
  ApiKey,
  CreateKeyParams,
  IssuedKey,
  KeyLimits,
  KeyScope,
  RotateKeyParams,
} from "./catalog/api-key.ts";
export type { Backup, CreateBackupParams } from "./catalog/backup.ts";
export type {
  CollectionInfo,
  CreateCollectionParams,
  ModifyCollectionParams,
} from "./catalog/collection-info.ts";
export { hybridSchema, type HybridSchemaParams } from "./catalog/hybrid-schema.ts";
export type {
  DatabaseInfo,
  Identity,
  IdParams,
  NameParams,
  PageParams,
  PagesParams,
  ResourceParams,
  TenantInfo,
  UpdateTenantParams,
} from "./catalog/params.ts";
export type {
  ChunkFields,
  Chunking,
  Configuration,
  EmbeddingFunction,
  IndexSwitch,
  Schema,
  Space,
  SparseIndex,
  ValueTypes,
  VectorIndex,
} from "./catalog/schema.ts";
export type {
  Amount,
  CollectionUsage,
  CurrentKey,
  HistoryInterval,
  MetricsHistory,
  Model,
  ModelParams,
  StageTimes,
  TenantUsage,
} from "./catalog/state.ts";
export { SheafClient } from "./client.ts";
export type { RequestParams, ScopeParams, SheafClientOptions } from "./client-options.ts";
export { Collection, type AcceptedModel, type IndexingStatus, type ModelWeights } from "./collection.ts";
export type {
  DenseModel,
  Embeddings,
  EmbedParams,
  EmbedSparseParams,
  SparseEmbedding,
  SparseModel,
  TextTokens,
} from "./embedding.ts";
export {
  AuthorizationError,
  BusyError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  RequestTimeoutError,
  ServerError,
  SheafApiError,
  SheafClientError,
  TooLargeError,
  UnreachableError,
  UnsupportedError,
} from "./errors.ts";
export { Pages } from "./pages.ts";
export type { Highlight, HighlightInput, Snippet } from "./records/highlight.ts";
export type { CountParams, Facet, FacetsParams, FacetValue } from "./records/facets.ts";
export type {
  Metadata,
  MetadataPatch,
  MetadataShape,
  MetadataValue,
  SparseVector,
} from "./records/metadata.ts";
export type {
  DeleteParams,
  GetParams,
  OrderBy,
  QueryParams,
  RecordsParams,
  SearchAllParams,
  Searches,
  SearchInput,
  SearchParams,
  Selector,
} from "./records/read.ts";
export type {
  DefaultGetKey,
  DefaultQueryKey,
  DefaultSearchKey,
  GetKey,
  QueryKey,
  Row,
  SearchKey,
} from "./records/row.ts";
export type { CommitOperation, CommitParams, Committed } from "./records/transaction.ts";
export type { PreFlightChecks } from "./server-limits.ts";
export type { RecordChange, RecordInput, WriteLimits, WriteParams, WriteProgress } from "./records/write.ts";
export type { Where } from "./records/where-json.ts";
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
export { age, type AgeParams, fieldValue, type FieldValueParams } from "./search/field-values.ts";
export { K, Key, type KeyInput, type KeyName } from "./search/key.ts";
export { Knn, knn, type KnnParams } from "./search/knn.ts";
export { Limit, type LimitInput, type LimitJson, type LimitOptions } from "./search/limit.ts";
export {
  Abs,
  type AgeJson,
  Div,
  Exp,
  type FieldJson,
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
export {
  type AnySearch,
  type ExplainJson,
  type Mmr,
  type OrderByJson,
  Search,
  type SearchInit,
  type SearchLike,
  type SearchPayload,
  toSearch,
} from "./search/search.ts";
export type { CheckedLeaf, CheckedSearch, Finding, SearchCheck } from "./search/search-check.ts";
export { Select, type SelectInput, type SelectJson } from "./search/select.ts";
export { WhereExpression, type WhereInput, type WhereJson } from "./search/where.ts";
export type { CallOptions, ClientRequest, TransportOptions } from "./transport.ts";
export type {
  ExplainedSearch,
  ExplainParams,
  LeafPlan,
  MatchedTerm,
  SearchPlan,
  Trace,
  TraceNumber,
  WhyNot,
} from "./records/explained.ts";

/** What the other packages may use of the wire contract. */
export { abortable, abortError, Cancellation, type CancelSignal, throwIfAborted } from "./cancellation.ts";
export {
  type ErrorCode,
  type ErrorMessage,
  type ErrorName,
  invalid,
  SheafError,
  type SheafErrorOptions,
  unprocessable,
} from "./errors.ts";
export { ByteBudget, type ByteBudgetOptions, type ByteLease } from "./byte-budget.ts";
export { itemPath, memberPath } from "./json/json-shape.ts";
export { heapBytes } from "./heap-bytes.ts";
export { isLatin1 } from "./latin1.ts";
export { LIMIT_TABLE, type LimitName, LIMITS } from "./limits.ts";
export { JsonFloat, readJson, readJsonWithVectors } from "./json/json-reader.ts";
export { writeDense, writeFloat64, writeMetadata, writeSparse, writeVector } from "./json/json-writer.ts";
export {
  type ResultShape,
  ResultWriter,
  getShape,
  isShortResult,
  queryShape,
  readShape,
  searchShape,
} from "./json/json-writer-results.ts";
export {
  emptyIntegerArray,
  INTEGER_WIDTHS,
  type IntegerArray,
  integerArray,
  integerWidth,
  type IntegerWidth,
  isIntegerArray,
} from "./integer-array.ts";
export {
  arrayMembers,
  isSparseVector,
  type Metadata,
  type MetadataArray,
  type MetadataKind,
  metadataKind,
  type MetadataPatch,
  type MetadataScalar,
  type MetadataValue,
  type SparseVector,
} from "./metadata.ts";
export { parseMetadata, parseMetadataPatch } from "./metadata-parser.ts";
export type {
  CommitOperation,
  CommitRequest,
  CommitResult,
  DeleteOperation,
  DeleteRequest,
  Facet,
  FacetBucket,
  FacetsRequest,
  FacetValue,
  GetRequest,
  Include,
  QueryRequest,
  ReadToken,
  RecordChunk,
  ResultRecord,
  Selector,
  WriteKind,
  WriteRecord,
  WriteRequest,
} from "./records/ast.ts";
export {
  type ChunkedBy,
  type Chunking,
  type ChunkingChoice,
  CHUNK_KEYS,
  chunkId,
  chunkMetadata,
  isChunkOf,
  parentOf,
  parentOfId,
  parseChunking,
  refuseChunkId,
  refuseChunkKeys,
  refuseKeysOfChunk,
} from "./records/chunking.ts";
export {
  HIGHLIGHT_SOURCES,
  type HighlightSource,
  mergeRanges,
  type Snippet,
  sourceBit,
  writeRanges,
} from "./records/highlights.ts";
export {
  characterEnd,
  documentPieces,
  toDocumentText,
  type DocumentText,
  fromDocumentText,
  isLongDocument,
} from "./records/document-text.ts";
export {
  parseCommitRequest,
  parseReadRequest,
  type ReadRequest,
  writeCommitResult,
} from "./records/commit-request.ts";
export { parseCountRequest } from "./records/count-request.ts";
export { parseDeleteRequest } from "./records/delete-request.ts";
export { parseFacetsRequest, writeFacet } from "./records/facets-request.ts";
export { parseGetRequest } from "./records/get-request.ts";
export { parseQueryRequest } from "./records/query-request.ts";
export { parseWriteRequest } from "./records/write-request.ts";
export type {
  BinaryOperator,
  Comparison,
  Explain,
  FieldLeaf,
  GroupBy,
  HighlightRequest,
  Knn,
  KnnQuery,
  Mmr,
  NaryOperator,
  OrderBy,
  OrderKey,
  Rank,
  ReadLevel,
  Search,
  SearchRequest,
  Select,
  UnaryOperator,
  Where,
} from "./search/ast.ts";
export {
  type DensePlan,
  type Explained,
  type FieldPlan,
  type LeafPlan,
  type SearchPlan,
  type SparsePlan,
  WHY_NOT_REASONS,
  type WhyNot,
  type WhyNotReason,
} from "./search/explained.ts";
export {
  EXTENSIONS,
  type ExtensionName,
  extensionRefusal,
  refuseCommitExtensions,
  refuseGetExtensions,
  refuseSchemaExtensions,
  refuseSearchExtensions,
  refuseWriteExtensions,
} from "./search/extensions.ts";
export { leafPaths, operandsOf } from "./search/leaf-paths.ts";
export { parseSearchRequest } from "./search/search-request.ts";
export { parseWhere, parseWhereDocument } from "./search/where.ts";
export { DOCUMENT_KEY, EMBEDDING_KEY } from "./system-keys.ts";
export type {
  Bm25Parameters,
  Collection,
  CollectionModels,
  CollectionRef,
  CreateCollection,
  Database,
  IndexPlan,
  Json,
  JsonObject,
  ModelIdentity,
  Space,
  SparseIndexPlan,
  Tenant,
  UpdateCollection,
} from "./catalog/ast.ts";
export {
  type ApiKey,
  type CreateKey,
  KEY_SCOPES,
  type KeyLimits,
  type KeyScope,
  parseCreateKey,
  parseRotateKey,
  type RotateKey,
  writeApiKey,
} from "./catalog/api-key.ts";
export { type BackupBody, backupName, parseBackupBody } from "./catalog/backup.ts";
export {
  type ForkBody,
  parseCreateCollection,
  parseForkBody,
  parseUpdateCollection,
  writeCollection,
} from "./catalog/collection.ts";
export { type DatabaseBody, parseDatabaseBody, writeDatabase } from "./catalog/database.ts";
export {
  type Bm25Settings,
  type EmbeddingPlan,
  embeddingPlan,
  planForQueries,
} from "./catalog/embedding-plan.ts";
export {
  chunkingOf,
  CLIENT_PREFIX,
  extendSchema,
  indexPlan,
  isListed,
  partitionsOf,
  withChunks,
} from "./catalog/index-plan.ts";
export { writePlainJson } from "./catalog/plain-json.ts";
export { DEFAULT_DATABASE, DEFAULT_TENANT, parseName, parseTenantName } from "./catalog/name.ts";
export { type PageParameters, parsePage, parseReadLevel } from "./catalog/query-parameters.ts";
export { checkKnn, checkSearchAgainstSchema, checkWhereAgainstSchema } from "./catalog/schema-check.ts";
export { type Finding, Findings, type WarningCode } from "./check/findings.ts";
export { type SearchCheck, parseSearchCheck } from "./check/search-check.ts";
export { warnOfSearch } from "./check/search-warnings.ts";
export {
  parseTenantBody,
  parseTenantUpdate,
  type TenantBody,
  type TenantUpdate,
  writeTenant,
} from "./catalog/tenant.ts";
export { describeMissingFunction } from "./catalog/missing-function.ts";
export { MODEL_KINDS, type ModelKind, describeUnknownModel, kindOfModel } from "./embed/models.ts";
export { type PullBody, parsePullBody } from "./embed/pull-body.ts";
export { checkTextSizes, type EmbedBody, parseEmbedBody, type Truncation } from "./embed/embed-body.ts";
export {
  DEFAULT_TASKS,
  type InstructionFields,
  resolveInstruction,
  type TaskInstructions,
  type TaskTable,
} from "./embed/instruction.ts";
export { TurnQueue } from "./turn-queue.ts";

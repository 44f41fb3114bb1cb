/**
 * Every bound of Sheaf, unit in the name, reason beside it. Parsers and routes read these; docs/reference/limits.md
 * is generated from them. Sizes are in bytes unless the name says otherwise.
 */

interface Limit {
  readonly value: number;
  /** Status of a request that goes over it; `null`: it bounds something else than requests. */
  readonly over: number | null;
  /** What it bounds and why, one sentence for the reference page. */
  readonly doc: string;
}

const table = {
  changedBytes: {
    value: 640 * 1024 * 1024,
    over: 413,
    doc: "Records that one write changes, as they are afterwards: 16 bytes for each number in metadata, 2 for each character of texts, 4 for each element of an embedding. More than any body brings; an update of few bytes can reach it.",
  },
  bodyBytes: {
    value: 64 * 1024 * 1024,
    over: 413,
    doc: "Request body; 400 on `/embed_sparse`. 5,461 records of 1,536 dimensions as JSON fit.",
  },
  jsonDepth: {
    value: 64,
    over: 400,
    doc: "Nesting depth of a JSON body, checked before it is parsed.",
  },
  jsonNodes: { value: 32_000_000, over: 400, doc: "Values in one JSON body." },
  jsonContainers: {
    value: 2_000_000,
    over: 400,
    doc: "Arrays and objects in one JSON body. Each takes far more memory than the two bytes it takes to send.",
  },
  jsonMembers: {
    value: 100_000,
    over: 400,
    doc: "Members of one object in a JSON body; beyond, building it takes longer with each.",
  },
  embedTexts: { value: 2_048, over: 400, doc: "Texts in one embedding call." },
  piecesTexts: { value: 100, over: 400, doc: "Texts in one embedding call with `fetch_pieces`." },
  queuedTokens: {
    value: 1_048_576,
    over: 429,
    doc: "Tokens of one tenant waiting for one model; requests of up to 4 texts and larger ones are counted separately, and take turns. A request is accepted while none of the tenant wait. Over four times as many of all tenants: 503.",
  },
  queuedCharacters: {
    value: 64 * 1024 * 1024,
    over: 429,
    doc: "Characters of one tenant waiting for the tokenizer, about one full body. A request is accepted while none of the tenant wait. Over four times as many of all tenants: 503.",
  },
  textBytes: {
    value: 1024 * 1024,
    over: 413,
    doc: "One text, before it is tokenized. 400 on `/embed_sparse`.",
  },
  dimensions: {
    value: 4_096,
    over: 400,
    doc: "Dimensions of a dense vector. The kernels add 16-bit sums, which do not overflow up to this.",
  },
  sparseNonZeros: { value: 16_384, over: 400, doc: "Non-zero entries of a sparse vector." },
  recordsPerWrite: { value: 100_000, over: 400, doc: "Records in one write." },
  chunkTokensMin: { value: 32, over: 400, doc: "Smallest `chunking.size`, in tokens. A word takes several." },
  chunkTokens: {
    value: 2_048,
    over: 400,
    doc: "Largest `chunking.size`, in tokens. Texts of several callers wait while a chunk is looked for.",
  },
  chunksPerDocument: {
    value: 4_096,
    over: 413,
    doc: "Chunks of one document. All of them are embedded within one request and stored together.",
  },
  copiedBytes: {
    value: 128 * 1024 * 1024,
    over: 413,
    doc: "Metadata and URIs that chunks get from their documents in one write, those of each document once for every chunk, counted as in `changedBytes`.",
  },
  operationsPerCommit: { value: 10_000, over: 400, doc: "Operations of one conditional commit." },
  readIdsPerCommit: {
    value: 10_000,
    over: 400,
    doc: "Ids that one conditional commit checks. They are looked up while other writers wait.",
  },
  trackedOperations: {
    value: 100_000,
    over: 412,
    doc: "Operations of a collection for which deletions are remembered. An older read token is stale.",
  },
  trackedOperationsOfSmall: {
    value: 4_096,
    over: 412,
    doc: "The same of a small collection that shares a file with others: what it remembers would soon be larger than what it holds.",
  },
  forkEdges: { value: 256, over: 422, doc: "Forks in the fork tree of a collection." },
  advertisedBatchSize: {
    value: 5_461,
    over: null,
    doc: "`max_batch_size` that clients read to split their writes.",
  },
  idBytes: { value: 512, over: 400, doc: "Record id, UTF-8. Above the longest key LMDB and clients use." },
  resultsPerPage: { value: 10_000, over: 400, doc: "Results of one page of a search." },
  resultsPerQuery: {
    value: 100_000,
    over: 400,
    doc: "Neighbours of one query embedding, of as many as there are records: clients ask for `count()` of them.",
  },
  resultsPerCall: {
    value: 1_000_000,
    over: 400,
    doc: "Neighbours of all query embeddings of a call together, counted in the same way.",
  },
  searchesPerCall: { value: 100, over: 400, doc: "Search payloads in one call." },
  queriesPerCall: { value: 1_024, over: 400, doc: "Query embeddings in one call." },
  rankNodes: { value: 1_000, over: 400, doc: "Operators and operands of one rank expression." },
  knnLeaves: { value: 64, over: 400, doc: "`$knn` expressions in one rank expression." },
  fieldLeaves: { value: 64, over: 400, doc: "`$key` and `$age` expressions in one rank expression." },
  knnLimit: { value: 100_000, over: 400, doc: "`$knn.limit`, and `k` of an aggregate." },
  explainedIds: {
    value: 100,
    over: 400,
    doc: "Ids that the searches of one call name under `explain`, to learn why they were not found.",
  },
  traceNodes: {
    value: 1_000_000,
    over: 413,
    doc: "Nodes of all traces of one call: operators, operands and matched terms of each record on an explained page.",
  },
  groupKeys: { value: 16, over: 400, doc: "Keys of `group_by`." },
  aggregateKeys: { value: 16, over: 400, doc: "Keys of `$min_k` and `$max_k`." },
  facetKeys: { value: 32, over: 400, doc: "Keys of one call of facets." },
  facetValues: { value: 1_000, over: 400, doc: "Values that a facet lists: `limit` of facets." },
  facetBuckets: { value: 1_000, over: 400, doc: "`histogram` of facets." },
  facetTextCharacters: {
    value: 256,
    over: null,
    doc: "Longest text that a facet lists, in UTF-16 units. Longer ones count as `other`.",
  },
  facetCharacters: {
    value: 4 * 1024 * 1024,
    over: 413,
    doc: "Texts that the facets of one call list, in UTF-16 units.",
  },
  mmrPool: {
    value: 1_000,
    over: 400,
    doc: "Records that `mmr` chooses from and its `limit`. Each that is chosen is compared with all others.",
  },
  orderKeys: { value: 8, over: 400, doc: "Keys of `order_by`." },
  orderedResults: {
    value: 100_000,
    over: 400,
    doc: "Records up to the last of a page that `order_by` orders, of as many as there are. All of them are held at once.",
  },
  highlights: {
    value: 64,
    over: null,
    doc: "Highlights of one document. Of more the first are shown.",
  },
  snippetCharacters: {
    value: 1_000,
    over: 400,
    doc: "`highlight.snippet`: the longest part of a document that is shown with its highlights, in UTF-16 units.",
  },
  selectKeys: { value: 1_024, over: 400, doc: "Keys of `select`." },
  whereNodes: { value: 1_000, over: 400, doc: "Clauses of one `where`." },
  whereValues: { value: 100_000, over: 400, doc: "Values of one `$in` or `$nin`, and ids of one selector." },
  containsCharacters: {
    value: 16 * 1024 * 1024,
    over: 400,
    doc: "Characters of what `$contains` looks for in documents, none of which has more.",
  },
  regexPatterns: {
    value: 64,
    over: 400,
    doc: "Different regular expressions of one request.",
  },
  regexBytes: {
    value: 10 * 1024 * 1024,
    over: 400,
    doc: "What a regular expression compiles to, as Rust's `regex` counts it: `\\w{388}` does not reach it, `\\w{389}` is over it.",
  },
  queuedRegexRequests: {
    value: 256,
    over: 429,
    doc: "Requests of one tenant that wait for a thread that runs regular expressions.",
  },
  regexCharacters: { value: 1_024, over: 400, doc: "Characters of a regular expression." },
  metadataKeys: { value: 1_024, over: 400, doc: "Metadata keys of one record or collection." },
  metadataKeyBytes: { value: 256, over: 400, doc: "One metadata key, UTF-8." },
  metadataValueBytes: {
    value: 1024 * 1024,
    over: 400,
    doc: "One metadata value. A member of an array counts eight bytes as a number, else its length and at least one.",
  },
  documentBytes: { value: 16 * 1024 * 1024, over: 400, doc: "One document, UTF-8." },
  uriBytes: { value: 8_192, over: 400, doc: "One URI, UTF-8." },
  tenantNameBytesMin: { value: 3, over: 400, doc: "Shortest tenant name." },
  tenantNameBytes: { value: 128, over: 400, doc: "Longest tenant name; no control characters." },
  nameCharactersMin: { value: 3, over: 400, doc: "Shortest database or collection name." },
  nameCharacters: { value: 512, over: 400, doc: "Longest database or collection name." },
  configurationBytes: {
    value: 256 * 1024,
    over: 400,
    doc: "`configuration` or `schema` of a collection, as JSON.",
  },
  collectionMetadataBytes: {
    value: 256 * 1024,
    over: 400,
    doc: "`metadata` of a collection, as JSON. Collections that were stored with more stay readable.",
  },
  listBytes: {
    value: 64 * 1024 * 1024,
    over: 413,
    doc: "JSON of one list of collections, databases or tenants. Longer ones are read with `limit` and `offset`.",
  },
  schemaKeys: {
    value: 4_096,
    over: 400,
    doc: "Keys listed in a schema. Further metadata keys follow the defaults and are not listed.",
  },
  partitions: {
    value: 64,
    over: 400,
    doc: "Partitions of a collection. A read asks each of them several times.",
  },
  keyNameCharacters: { value: 128, over: 400, doc: "Name of an API key." },
  keyOverlapSeconds: {
    value: 30 * 24 * 3_600,
    over: 400,
    doc: "Time that a rotated key may stay valid.",
  },
  requestSeconds: {
    value: 60,
    over: 504,
    doc: "Deadline of a request; then it is cancelled.",
  },
  bulkRequestSeconds: { value: 600, over: 504, doc: "Deadline of a request that embeds more than 64 texts." },
  bulkTexts: {
    value: 64,
    over: null,
    doc: "Number of embedded texts above which a request gets the longer deadline.",
  },
  modelHeaderBytes: {
    value: 100_000_000,
    over: 503,
    doc: "JSON that describes a model: config, shard index, safetensors header (the format's own limit).",
  },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof table;

/** name -> value and reason, for the generated reference page. */
export const LIMIT_TABLE: Readonly<Record<LimitName, Limit>> = table;

/** name -> value. */
export const LIMITS: { readonly [name in LimitName]: number } = Object.freeze(
  Object.fromEntries(Object.entries(table).map(([name, limit]) => [name, limit.value])) as Record<
    LimitName,
    number
  >,
);

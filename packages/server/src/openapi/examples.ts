/**
 * An example for each body of the API description, by the name of its schema. Those of records fit one collection of short
 * notes in the order of their routes, whose texts the server embeds; a test sends them.
 */
const SPARSE_INDEX = {
  enabled: true,
  config: {
    source_key: "#document",
    bm25: true,
    embedding_function: { type: "known", name: "sheaf", config: { model: "sheaf/bm25" } },
  },
};

const DENSE_INDEX = {
  enabled: true,
  config: {
    space: "cosine",
    embedding_function: {
      type: "known",
      name: "sheaf",
      config: { model: "sentence-transformers/all-MiniLM-L6-v2" },
    },
  },
};

const HARBOUR = { query: "ships in the harbour" };

export const EXAMPLES: Readonly<Record<string, object>> = {
  EmbedBody: { texts: ["Ships leave the harbour at high tide."], instructions: "" },
  AddBody: {
    ids: ["tides", "bread"],
    documents: ["Ships leave the harbour at high tide.", "Sourdough rests overnight."],
    metadatas: [
      { room: "sea", year: 1998 },
      { room: "kitchen", year: 2003 },
    ],
  },
  Chunking: { by: "headings", size: 256 },
  ChangeBody: {
    ids: ["tides"],
    metadatas: [{ room: "sea", year: 1999 }],
    documents: ["Ships wait for the tide."],
  },
  DeleteBody: { where: { year: { $lt: 1990 } } },
  GetBody: {
    where: { room: { $in: ["sea", "kitchen"] } },
    order_by: [{ year: "desc" }],
    limit: 10,
    include: ["documents", "metadatas"],
  },
  CountBody: { where: { room: "sea" } },
  FacetsBody: { keys: ["room", "year"], limit: 10 },
  QueryBody: { query_embeddings: [Array.from({ length: 384 }, (_, i) => (i === 0 ? 1 : 0))], n_results: 3 },
  ReadBody: { ids: ["tides"] },
  CommitBody: {
    operations: [
      { operation: "upsert", payload: { ids: ["knots"], documents: ["A bowline holds under load."] } },
    ],
  },
  SearchBody: {
    searches: [
      {
        where: { year: { $gte: 1990 } },
        rank: {
          $mul: [
            {
              $sum: [
                { $div: { left: { $val: 1 }, right: { $sum: [{ $val: 60 }, knnPlace({})] } } },
                { $div: { left: { $val: 1 }, right: { $sum: [{ $val: 60 }, knnPlace({ key: "bm25" })] } } },
              ],
            },
            { $val: -1 },
          ],
        },
        limit: { limit: 5 },
        select: { keys: ["#document", "#score", "room"] },
      },
    ],
  },
  TenantBody: { name: "acme" },
  TenantUpdate: { resource_name: "acme-1" },
  DatabaseBody: { name: "notes" },
  CollectionBody: {
    name: "notes",
    get_or_create: true,
    schema: {
      keys: {
        "#embedding": { float_list: { vector_index: DENSE_INDEX } },
        bm25: { sparse_vector: { sparse_vector_index: SPARSE_INDEX } },
      },
    },
  },
  CollectionUpdate: { new_metadata: { owner: "harbour office" } },
  ForkBody: { new_name: "notes-copy" },
  KeyBody: { name: "app", tenant: "acme", scopes: ["read", "write"] },
  RotateBody: { overlap_seconds: 3_600 },
  BackupBody: { name: "monday" },
  PullBody: { model: "sentence-transformers/all-MiniLM-L6-v2" },
};

function knnPlace(more: object): object {
  return { $knn: { ...HARBOUR, ...more, limit: 100, default: 100, return_rank: true } };
}

/** Tenants, databases and collections: their bodies, and how replies describe them. */
import { LIMITS } from "@sheaf/protocol";
import { type JsonSchema, Type } from "../json-schema.ts";
import { anyObject, closed, count, maybe, orNull, ref } from "../schema-parts.ts";

const uuid = Type.String({ format: "uuid" });
const text = Type.String();

export const COLLECTION_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  TenantBody: Type.Object({ name: ref("TenantName") }, { examples: [{ name: "acme" }] }),
  TenantUpdate: Type.Object({
    resource_name: Type.String({ maxLength: LIMITS.nameCharacters }),
  }),
  Tenant: Type.Object({ name: text, resource_name: orNull(text) }),
  DatabaseBody: Type.Object({ name: ref("Name") }, { examples: [{ name: "notes" }] }),
  Database: Type.Object({ id: uuid, name: text, tenant: text }),
  CollectionMetadata: Type.Intersect([ref("Metadata"), Type.Object({}, { minProperties: 1 })], {
    description: "`hnsw:space` and its kin describe the index, as they do for older clients.",
  }),
  CollectionMetadataPatch: Type.Intersect([ref("MetadataPatch"), Type.Object({}, { minProperties: 1 })]),
  CollectionBody: Type.Object(
    {
      name: ref("Name"),
      metadata: maybe(ref("CollectionMetadata")),
      configuration: maybe(ref("Configuration")),
      schema: maybe(ref("Schema"), "Instead of a `configuration` with settings of its own."),
      get_or_create: maybe(Type.Boolean(), "Answer with the collection of this name if there is one."),
    },
    {
      examples: [
        {
          name: "harbour",
          configuration: { embedding_function: { type: "known", name: "default", config: {} } },
        },
      ],
    },
  ),
  CollectionUpdate: Type.Object({
    new_name: maybe(ref("Name")),
    new_metadata: maybe(
      ref("CollectionMetadataPatch"),
      "Replaces the metadata as a whole; a key that is `null` is left out.",
    ),
    new_configuration: maybe(ref("ConfigurationUpdate")),
  }),
  Collection: Type.Object({
    id: uuid,
    name: text,
    configuration_json: Type.Object({
      hnsw: orNull(anyObject("Settings of the index.")),
      spann: orNull(anyObject("Settings of the index.")),
      embedding_function: orNull(ref("EmbeddingFunction")),
    }),
    schema: Type.Object(
      {
        defaults: anyObject("Value type -> index."),
        keys: anyObject("Key -> value type -> index."),
        chunking: Type.Optional(ref("Chunking")),
        partitions: Type.Optional(partitions("Left out: it is not divided.")),
      },
      { description: "The complete schema, however the collection was described." },
    ),
    metadata: orNull(ref("Metadata")),
    dimension: orNull(count("Of the dense vectors; `null` before the first.")),
    tenant: text,
    database: text,
    log_position: count("Of the last write."),
    version: count("Rises when the newest writes have been indexed."),
  }),
  IndexingStatus: Type.Object({
    op_indexing_progress: Type.Number({ minimum: 0, maximum: 1 }),
    num_unindexed_ops: count("Operations that searches see, but that are not counted as indexed yet."),
    num_indexed_ops: count(),
    total_ops: count(),
  }),
  Weights: Type.Object({
    revision: text,
    digest: Type.String({ description: "`sha256:<hex>` over the weights." }),
  }),
  AcceptedModels: Type.Object({
    accepted: Type.Array(Type.Object({ model: text, revision: text, digest: text, before: ref("Weights") }), {
      description: "The models whose weights were others; empty where none were.",
    }),
  }),
  ForkBody: Type.Object({ new_name: ref("Name") }),
  ForkCount: Type.Object({
    count: count("Forks made in the tree that the collection belongs to, deleted ones too."),
  }),
  EmbeddingFunction: Type.Union(
    [
      Type.Object({ type: Type.Literal("known"), name: text, config: maybe(anyObject("Its settings.")) }),
      Type.Object({ type: Type.Union([Type.Literal("legacy"), Type.Literal("unknown")]) }),
    ],
    {
      description:
        "How the collection embeds. The server knows `default`, `sheaf`, `chroma-cloud-qwen`, `chroma-cloud-splade` and " +
        "`chroma_bm25`; any other function is kept to the letter, and its vectors come from clients. `sheaf` with the model " +
        "`sheaf/bm25` gets `statistics: collection` unless it says `fixed`.",
    },
  ),
  Schema: Type.Object(
    {
      defaults: maybe(ref("ValueTypes"), "For keys that the schema does not list."),
      keys: maybe(schemaKeys(), "Key -> its indexes. `key_overrides` means the same."),
      key_overrides: maybe(schemaKeys()),
      chunking: maybe(ref("Chunking"), "How documents of writes are cut that do not say it themselves."),
      partitions: maybe(
        partitions(
          "Into how many parts the collection is divided, for good. More than one needs a server on a database.",
        ),
      ),
    },
    { description: "Laid over the default schema." },
  ),
  ...indexSchemas(),
};

function partitions(description: string): JsonSchema {
  return Type.Integer({ minimum: 1, maximum: LIMITS.partitions, description });
}

function schemaKeys(): JsonSchema {
  return Type.Record("^(?:#document$|#embedding$|[^#$])", maybe(ref("ValueTypes")), {
    additionalProperties: false,
    maxProperties: LIMITS.schemaKeys,
  });
}

/** Kinds of value -> their indexes. */
function indexSchemas(): Record<string, JsonSchema> {
  const plain = index(closed({}));
  const indexes = (members: Readonly<Record<string, JsonSchema>>): JsonSchema =>
    maybe(
      Type.Object(Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, maybe(schema)]))),
    );
  return {
    ValueTypes: Type.Object(
      {
        string: indexes({ fts_index: index(fullText()), string_inverted_index: plain }),
        float_list: indexes({ vector_index: index(ref("VectorIndex")) }),
        sparse_vector: indexes({ sparse_vector_index: index(ref("SparseIndex")) }),
        int: indexes({ int_inverted_index: plain }),
        float: indexes({ float_inverted_index: plain }),
        bool: indexes({ bool_inverted_index: plain }),
      },
      {
        description:
          "The older spellings `#string` and `$fts_index` mean `string` and `fts_index`, and so on.",
      },
    ),
    SparseIndex: closed({
      embedding_function: maybe(ref("EmbeddingFunction")),
      source_key: maybe(
        Type.String({ pattern: "^(?:#document$|[^#]|$)" }),
        "`#document` or a metadata field that a missing vector is made from; needs an `embedding_function`.",
      ),
      bm25: maybe(Type.Boolean(), "Weigh query terms by how rare they are in the collection."),
      algorithm: maybe(Type.Union([Type.Literal("wand"), Type.Literal("max_score")])),
    }),
  };
}

function index(config: JsonSchema): JsonSchema {
  return closed({ enabled: Type.Boolean(), config: maybe(config) });
}

function fullText(): JsonSchema {
  return closed({
    algorithm: maybe(Type.Union([Type.Literal("trigram"), Type.Literal("token_bitmap")])),
  });
}

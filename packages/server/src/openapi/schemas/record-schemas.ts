/** Bodies and replies of the record routes. */
import { HIGHLIGHT_SOURCES, LIMITS } from "@sheaf/protocol";
import { type SchemaMembers, type JsonSchema, Type } from "../json-schema.ts";
import { anyObject, arrayOf, closed, count, maybe, orNull, ref, words } from "../schema-parts.ts";

const INCLUDE_KEYS = ["documents", "embeddings", "metadatas", "uris", "distances"];
export const READ_LEVELS: readonly string[] = ["index_and_wal", "index_only", "index_and_bounded_wal"];

const snippetLength = Type.Integer({
  minimum: 1,
  maximum: LIMITS.snippetCharacters,
  description: "Its longest length in UTF-16 units.",
});

const SELECTOR: SchemaMembers = {
  ids: maybe(arrayOf(Type.String(), { maxItems: LIMITS.whereValues })),
  where: maybe(ref("Where")),
  where_document: maybe(ref("WhereDocument")),
};

/** One value or `null` per id. */
function column(item: JsonSchema, description: string): JsonSchema {
  return Type.Optional(Type.Union([arrayOf(orNull(item)), Type.Null()], { description }));
}

function writeBody(metadata: string): JsonSchema {
  return Type.Object(
    {
      ids: arrayOf(Type.String({ minLength: 1, maxLength: LIMITS.idBytes }), {
        maxItems: LIMITS.recordsPerWrite,
      }),
      embeddings: column(ref("Embedding"), "Of one dimension. Made from the document where it is missing."),
      documents: column(Type.String({ maxLength: LIMITS.documentBytes }), "The texts."),
      uris: column(Type.String({ maxLength: LIMITS.uriBytes }), "Where the records come from."),
      metadatas: column(ref(metadata), "Metadata of each record."),
      chunking: maybe(ref("Chunking"), "How documents are cut, whatever the schema of the collection says."),
    },
    {
      description: "Columns of equal length; `null` stands for a value that a record has not.",
      examples: [
        {
          ids: ["tide", "bread"],
          documents: ["Ships rise with the tide.", "Bread rises overnight."],
          metadatas: [{ topic: "sea", year: 1998 }, { topic: "food" }],
        },
      ],
    },
  );
}

function includeOf(defaults: string): JsonSchema {
  return maybe(arrayOf(words(INCLUDE_KEYS)), `Columns of the reply; ${defaults} unless it says otherwise.`);
}

/** What a column of a reply holds: `null` for one that was not asked for. */
function asked(item: JsonSchema, depth: 1 | 2): JsonSchema {
  return orNull(arrayOf(depth === 1 ? item : arrayOf(item)));
}

function columns(depth: 1 | 2): SchemaMembers {
  const ids = arrayOf(Type.String());
  return {
    ids: depth === 1 ? ids : arrayOf(ids),
    embeddings: asked(orNull(arrayOf(Type.Number())), depth),
    documents: asked(orNull(Type.String()), depth),
    uris: asked(orNull(Type.String()), depth),
    metadatas: asked(orNull(ref("Metadata")), depth),
    include: arrayOf(words(INCLUDE_KEYS), { description: "The list that was asked for." }),
  };
}

function operation(name: string, payload: string): JsonSchema {
  return Type.Object({ operation: Type.Literal(name), payload: ref(payload) });
}

export const RECORD_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  AddBody: writeBody("Metadata"),
  Chunking: Type.Union(
    [
      closed({
        by: words(["tokens", "sentences", "headings"]),
        size: maybe(
          Type.Integer({ minimum: LIMITS.chunkTokensMin, maximum: LIMITS.chunkTokens }),
          "Tokens of a chunk at most, 256 by default. A model that takes less has smaller ones.",
        ),
        overlap: maybe(
          count("", LIMITS.chunkTokens / 2),
          "Tokens at the end of a chunk that the next one begins with; at most half of `size`, 0 by default.",
        ),
      }),
      closed({ by: words(["none"]) }),
    ],
    {
      description:
        "The server cuts document X into the records `X#0` to `X#n`, with `parent`, `start` and `end` in their metadata.",
      examples: [
        { by: "headings", size: 256 },
        { by: "tokens", size: 200, overlap: 40 },
      ],
    },
  ),
  ChangeBody: writeBody("MetadataPatch"),
  DeleteBody: Type.Object(
    { ...SELECTOR, limit: maybe(count(), "Only beside a filter.") },
    { examples: [{ ids: ["tide"] }] },
  ),
  Deleted: Type.Object({ deleted: count("Records that really existed.") }),
  GetBody: Type.Object(
    {
      ...SELECTOR,
      limit: maybe(count(), "All, if it is left out."),
      offset: maybe(count()),
      order_by: maybe(ref("OrderBy")),
      highlight: maybe(ref("HighlightRequest")),
      include: includeOf("documents and metadatas"),
      encoding_format: maybe(
        words(["float", "base64"]),
        "Of embeddings: lists of numbers, or strings with the bytes of their little-endian 32-bit floats in base64.",
      ),
    },
    { examples: [{ where: { year: { $lt: 2000 } }, limit: 10 }] },
  ),
  OrderBy: arrayOf(
    Type.Record("^[^#]", words(["asc", "desc"]), {
      minProperties: 1,
      maxProperties: 1,
    }),
    {
      maxItems: LIMITS.orderKeys,
      description: `Metadata keys, such as \`[{"price": "desc"}, {"year": "asc"}]\`. Records without a value come last, those that are equal in insertion order.`,
    },
  ),
  HighlightRequest: Type.Union([Type.Boolean(), closed({ snippet: maybe(snippetLength) })], {
    description: "Say where documents match, and with `snippet` show the part of each in which they do.",
  }),
  Highlight: Type.Object(
    {
      start: count(),
      end: count(),
      by: arrayOf(words(HIGHLIGHT_SOURCES), { description: "What has found it." }),
    },
    { description: "A part of a document, in UTF-16 units." },
  ),
  Snippet: Type.Object(
    {
      text: Type.String(),
      start: count("Where it begins in the document, in UTF-16 units."),
      highlights: arrayOf(ref("Highlight"), { description: "Relative to the snippet." }),
    },
    { description: "The part of a document with the most highlights." },
  ),
  GetResult: Type.Object(
    {
      ...columns(1),
      highlights: Type.Optional(arrayOf(orNull(arrayOf(ref("Highlight"))))),
      snippets: Type.Optional(arrayOf(orNull(ref("Snippet")))),
    },
    { description: "Columns in the order that was asked for; the last two only where `highlight` is." },
  ),
  CountBody: closed(SELECTOR, { description: "The selection of a `get`; `{}` counts all records." }),
  FacetsBody: closed(
    {
      ...SELECTOR,
      keys: arrayOf(Type.String({ pattern: "^[^#]" }), { minItems: 1, maxItems: LIMITS.facetKeys }),
      limit: maybe(
        count(undefined, LIMITS.facetValues),
        "Values that are listed of each key, 10 by default.",
      ),
      histogram: maybe(
        Type.Integer({ minimum: 1, maximum: LIMITS.facetBuckets }),
        "Buckets of equal width for the numbers of each key.",
      ),
    },
    { description: "Metadata keys, and the selection of a `get`." },
  ),
  Facets: Type.Object(
    {},
    { additionalProperties: ref("Facet"), description: "By key, in the order that was asked for." },
  ),
  Facet: Type.Object({
    values: arrayOf(
      Type.Object({ value: Type.Union([Type.String(), Type.Boolean(), Type.Number()]), count: count() }),
      {
        description: "The most frequent first, then by value.",
      },
    ),
    missing: count("Records without a value under the key."),
    other: count("Occurrences of values that are not listed."),
    min: orNull(Type.Number(), "Of the numbers."),
    max: orNull(Type.Number(), "Of the numbers."),
    histogram: Type.Optional(
      arrayOf(Type.Object({ from: Type.Number(), to: Type.Number(), count: count() })),
    ),
  }),
  QueryBody: Type.Object(
    {
      ...SELECTOR,
      query_embeddings: arrayOf(ref("DenseVector"), { maxItems: LIMITS.queriesPerCall }),
      n_results: maybe(count(), "Neighbours of each query, 10 by default; no more than there are records."),
      include: includeOf("documents, metadatas and distances"),
    },
    { examples: [{ query_embeddings: [[0.1, 0.2, 0.3]], n_results: 2 }] },
  ),
  QueryResult: Type.Object(
    { ...columns(2), distances: asked(orNull(Type.Number()), 2) },
    { description: "Columns with one row per query, nearest first." },
  ),
  ReadToken: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "Names the state that was read. What it is made of is the server's business.",
  }),
  ReadBody: Type.Intersect([
    ref("GetBody"),
    Type.Object({ read_token: maybe(ref("ReadToken"), "Of an earlier read, to go on with it.") }),
  ]),
  ReadResult: Type.Intersect([ref("GetResult"), Type.Object({ read_token: ref("ReadToken") })]),
  CommitBody: Type.Object({
    read_token: maybe(ref("ReadToken"), "Needed where `read_ids` names any."),
    read_ids: maybe(
      arrayOf(Type.String(), { maxItems: LIMITS.readIdsPerCommit }),
      "Records that must not have changed since the read.",
    ),
    operations: arrayOf(
      Type.Union([
        operation("add", "AddBody"),
        operation("upsert", "ChangeBody"),
        operation("update", "ChangeBody"),
        operation("delete", "DeleteBody"),
      ]),
      {
        description: "Applied in order, all or none. Deletes are by ids.",
        maxItems: LIMITS.operationsPerCommit,
      },
    ),
  }),
  Committed: Type.Object({
    first_inserted_record_offset: orNull(Type.Integer()),
    record_count: count(),
  }),
  Empty: anyObject("`{}`"),
};

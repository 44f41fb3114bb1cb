/**
 * Replies of get, query and search. They are column-major: one list of ids, one of documents and so on, and a column
 * that was not asked for is `null`. Each reply can be taken whole or in pieces; a reply of many vectors is longer
 * than a JavaScript string may be.
 */
import { writeMetadata, writeVector } from "./json-writer.ts";
import { writeFloat32Array } from "./json-writer-float32.ts";
import type { Metadata } from "./metadata.ts";
import type { Include, ResultRecord } from "./records/ast.ts";
import type { SearchRequest, Select } from "./search/ast.ts";

/** Length of a piece in characters, from which on it is sent: enough to make a system call worth its while. */
const CHUNK_CHARACTERS = 256 * 1024;
/** Metadata keys that existing servers keep for themselves. */
const RESERVED_PREFIX = "chroma:";

type Records = readonly ResultRecord[];

/** Makes the pieces of one column of a list of records. */
type Column = (records: Records) => Iterable<string>;

/** Reply of get: `{"ids", "embeddings", "documents", "uris", "metadatas", "include"}`. */
export function writeGetResult(records: Records, include: Include): string {
  return [...getResultParts(records, include)].join("");
}

/** As `writeGetResult`, in pieces. */
export function getResultChunks(records: Records, include: Include): Iterable<string> {
  return joined(getResultParts(records, include));
}

/** As `getResultChunks`, with `read_token`. */
export function readResultChunks(records: Records, include: Include, readToken: string): Iterable<string> {
  return joined(getResultParts(records, include, `,"read_token":${JSON.stringify(readToken)}`));
}

/** Reply of query: as get with one list per query vector, and `distances`. */
export function writeQueryResult(rows: readonly Records[], include: Include): string {
  return [...queryResultParts(rows, include)].join("");
}

/** As `writeQueryResult`, in pieces. */
export function queryResultChunks(rows: readonly Records[], include: Include): Iterable<string> {
  return joined(queryResultParts(rows, include));
}

/**
 * Reply of search: `{"ids", "documents", "embeddings", "metadatas", "scores", "select"}`, one entry per search of the
 * request, in its order.
 */
export function writeSearchResult(rows: readonly Records[], request: SearchRequest): string {
  return [...searchResultParts(rows, request)].join("");
}

/** As `writeSearchResult`, in pieces. */
export function searchResultChunks(rows: readonly Records[], request: SearchRequest): Iterable<string> {
  return joined(searchResultParts(rows, request));
}

/** `last` are the members after all others. */
function* getResultParts(records: Records, include: Include, last = ""): Generator<string> {
  for (const [prefix, column] of recordColumns(include)) {
    yield prefix;
    yield* column(records);
  }
  yield `,"include":${JSON.stringify(include.keys)}${last}}`;
}

function* queryResultParts(rows: readonly Records[], include: Include): Generator<string> {
  const distances = include.distances ? scores : absent;
  for (const [prefix, column] of [...recordColumns(include), [',"distances":', distances] as const]) {
    yield prefix;
    // Without a column there is one `null`, not one per query.
    yield* column === absent
      ? ["null"]
      : nested(
          rows,
          rows.map(() => column),
        );
  }
  yield `,"include":${JSON.stringify(include.keys)}}`;
}

function* searchResultParts(rows: readonly Records[], request: SearchRequest): Generator<string> {
  const selects = request.searches.map(({ select }) => select);
  const columnOf = (wanted: (select: Select) => boolean, column: Column): readonly Column[] =>
    selects.map((select) => (wanted(select) ? column : absent));
  yield '{"ids":';
  yield* nested(
    rows,
    columnOf(() => true, ids),
  );
  yield ',"documents":';
  yield* nested(
    rows,
    columnOf((select) => select.document, documents),
  );
  yield ',"embeddings":';
  yield* nested(
    rows,
    columnOf((select) => select.embedding, embeddings),
  );
  yield ',"metadatas":';
  yield* nested(rows, selects.map(selectedMetadata));
  yield ',"scores":';
  yield* nested(
    rows,
    columnOf((select) => select.score, scores),
  );
  yield `,"select":${JSON.stringify(selects.map(({ keys }) => keys))}}`;
}

/** The columns that get and query share, each with what stands before it. */
function recordColumns(include: Include): readonly (readonly [prefix: string, column: Column])[] {
  return [
    ['{"ids":', ids],
    [',"embeddings":', include.embeddings ? embeddings : absent],
    [',"documents":', include.documents ? documents : absent],
    [',"uris":', include.uris ? uris : absent],
    [',"metadatas":', include.metadatas ? visibleMetadatas : absent],
  ];
}

/** A list of lists, `columns[i]` making the one of `rows[i]`. */
function* nested(rows: readonly Records[], columns: readonly Column[]): Generator<string> {
  yield "[";
  for (const [index, records] of rows.entries()) {
    if (index > 0) yield ",";
    yield* (columns[index] ?? absent)(records);
  }
  yield "]";
}

function absent(): Iterable<string> {
  return ["null"];
}

function ids(records: Records): Iterable<string> {
  return listOf(records, ({ id }) => JSON.stringify(id));
}

function documents(records: Records): Iterable<string> {
  return listOf(records, ({ document }) => JSON.stringify(document ?? null));
}

function uris(records: Records): Iterable<string> {
  return listOf(records, ({ uri }) => JSON.stringify(uri ?? null));
}

function embeddings(records: Records): Iterable<string> {
  return listOf(records, ({ embedding }) => (embedding ? writeVector(embedding) : "null"));
}

function scores(records: Records): Iterable<string> {
  return [
    writeFloat32Array(
      Float32Array.from(records, ({ score }) => score ?? Number.NaN),
      "2.0",
    ),
  ];
}

function visibleMetadatas(records: Records): Iterable<string> {
  return metadatas(records, (key) => !key.startsWith(RESERVED_PREFIX));
}

/** All fields with `#metadata`, else the selected ones. */
function selectedMetadata(select: Select): Column {
  if (select.metadata) return (records) => metadatas(records, () => true);
  if (select.fields.length === 0) return absent;
  const fields = new Set(select.fields);
  return (records) => metadatas(records, (key) => fields.has(key));
}

function metadatas(records: Records, keep: (key: string) => boolean): Iterable<string> {
  return listOf(records, ({ metadata }) => writeMetadata(metadata ? filtered(metadata, keep) : null));
}

function filtered(metadata: Metadata, keep: (key: string) => boolean): Metadata {
  return new Map([...metadata].filter(([key]) => keep(key)));
}

function* listOf(records: Records, write: (record: ResultRecord) => string): Generator<string> {
  yield "[";
  for (const [index, record] of records.entries()) yield index === 0 ? write(record) : `,${write(record)}`;
  yield "]";
}

/** Small parts joined to pieces worth sending. */
function* joined(parts: Iterable<string>): Generator<string> {
  let chunk = "";
  for (const part of parts) {
    chunk += part;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

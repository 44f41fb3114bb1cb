/**
 * Replies of get, query and search. They are column-major: one list of ids, one of documents and so on, and a column
 * that was not asked for is `null`. Each reply can be taken whole or in pieces; a reply of many vectors is longer
 * than a JavaScript string may be.
 */
import { writeMetadata, writeVector } from "./json-writer.ts";
import { writeFloat32Array } from "./json-writer-float32.ts";
import type { Include, ResultRecord } from "./records/ast.ts";
import type { SearchRequest, Select } from "./search/ast.ts";

/** Length of a piece in characters, from which on it is sent: enough to make a system call worth its while. */
const CHUNK_CHARACTERS = 256 * 1024;
/** Records that are written at once: few enough that their documents and vectors fit into memory twice. */
const SLICE_RECORDS = 16;
/** Metadata keys that existing servers keep for themselves. */
const RESERVED_PREFIX = "chroma:";

type Records = readonly ResultRecord[];

/** Writes the items of one column of some records, with commas between them; `null`: a column that was not asked for. */
type Column = ((records: Records) => string) | null;

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
    yield* listOf(records, column);
  }
  yield `,"include":${JSON.stringify(include.keys)}${last}}`;
}

function* queryResultParts(rows: readonly Records[], include: Include): Generator<string> {
  const columns = recordColumns(include);
  columns.push([',"distances":', include.distances ? scores : null]);
  for (const [prefix, column] of columns) {
    yield prefix;
    // Without a column there is one `null`, not one per query.
    if (column === null) yield "null";
    else yield* nested(rows, () => column);
  }
  yield `,"include":${JSON.stringify(include.keys)}}`;
}

function* searchResultParts(rows: readonly Records[], request: SearchRequest): Generator<string> {
  const selects = request.searches.map(({ select }) => select);
  const columns: readonly (readonly [prefix: string, columnOf: (select: Select) => Column])[] = [
    ['{"ids":', () => ids],
    [',"documents":', (select) => (select.document ? documents : null)],
    [',"embeddings":', (select) => (select.embedding ? embeddings : null)],
    [',"metadatas":', selectedMetadata],
    [',"scores":', (select) => (select.score ? scores : null)],
  ];
  for (const [prefix, columnOf] of columns) {
    yield prefix;
    yield* nested(rows, (index) => columnOf(selects[index]!));
  }
  yield `,"select":${JSON.stringify(selects.map(({ keys }) => keys))}}`;
}

/** The columns that get and query share, each with what stands before it. */
function recordColumns(include: Include): [prefix: string, column: Column][] {
  return [
    ['{"ids":', ids],
    [',"embeddings":', include.embeddings ? embeddings : null],
    [',"documents":', include.documents ? documents : null],
    [',"uris":', include.uris ? uris : null],
    [',"metadatas":', include.metadatas ? visibleMetadatas : null],
  ];
}

/** A list of lists, `columnOf(i)` making the one of `rows[i]`. */
function* nested(rows: readonly Records[], columnOf: (index: number) => Column): Generator<string> {
  yield "[";
  for (const [index, records] of rows.entries()) {
    if (index > 0) yield ",";
    yield* listOf(records, columnOf(index));
  }
  yield "]";
}

function* listOf(records: Records, column: Column): Generator<string> {
  if (column === null) yield "null";
  else if (records.length <= SLICE_RECORDS) yield `[${column(records)}]`;
  else {
    for (let from = 0; from < records.length; from += SLICE_RECORDS) {
      yield `${from === 0 ? "[" : ","}${column(records.slice(from, from + SLICE_RECORDS))}`;
    }
    yield "]";
  }
}

function ids(records: Records): string {
  return itemsOf(records.map(({ id }) => id));
}

function documents(records: Records): string {
  return itemsOf(records.map(({ document }) => document ?? null));
}

function uris(records: Records): string {
  return itemsOf(records.map(({ uri }) => uri ?? null));
}

function embeddings(records: Records): string {
  return records.map(({ embedding }) => (embedding ? writeVector(embedding) : "null")).join(",");
}

function scores(records: Records): string {
  const values = new Float32Array(records.length);
  for (let index = 0; index < values.length; index += 1) values[index] = records[index]?.score ?? Number.NaN;
  return writeFloat32Array(values, "2.0").slice(1, -1);
}

function visibleMetadatas(records: Records): string {
  return metadatas(records, (key) => !key.startsWith(RESERVED_PREFIX));
}

/** All fields with `#metadata`, else the selected ones. */
function selectedMetadata(select: Select): Column {
  if (select.metadata) return (records) => metadatas(records, () => true);
  if (select.fields.length === 0) return null;
  const fields = new Set(select.fields);
  return (records) => metadatas(records, (key) => fields.has(key));
}

function metadatas(records: Records, keep: (key: string) => boolean): string {
  return records.map(({ metadata }) => writeMetadata(metadata ?? null, keep)).join(",");
}

/** What stands between the brackets of the list. */
function itemsOf(values: readonly (string | null)[]): string {
  return JSON.stringify(values).slice(1, -1);
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

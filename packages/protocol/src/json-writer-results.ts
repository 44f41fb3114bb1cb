/**
 * Replies of get, query and search. They are column-major: one list of ids, one of documents and so on, and a column
 * that was not asked for is `null`. Each reply can be taken whole or in pieces; a reply of many vectors is longer
 * than a JavaScript string may be.
 */
import { writeMetadata, writeVector } from "./json-writer.ts";
import { writeFloat32Array } from "./json-writer-float32.ts";
import type { Include, ReadToken, ResultRecord } from "./records/ast.ts";
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

/**
 * Of a reply, in order. What may be long is written when it is sent; generators of it would cost small replies more than
 * the writing.
 */
type Parts = (string | (() => string))[];

/** Reply of get: `{"ids", "embeddings", "documents", "uris", "metadatas", "include"}`. */
export function writeGetResult(records: Records, include: Include): string {
  return whole(getResultParts(records, include));
}

/** As `writeGetResult`, in pieces. */
export function getResultChunks(records: Records, include: Include): Iterable<string> {
  return joined(getResultParts(records, include));
}

/** As `getResultChunks`, with `read_token`. */
export function readResultChunks(records: Records, include: Include, readToken: ReadToken): Iterable<string> {
  return joined(getResultParts(records, include, `,"read_token":${readToken}`));
}

/** Reply of query: as get with one list per query vector, and `distances`. */
export function writeQueryResult(rows: readonly Records[], include: Include): string {
  return whole(queryResultParts(rows, include));
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
  return whole(searchResultParts(rows, request));
}

/** As `writeSearchResult`, in pieces. */
export function searchResultChunks(rows: readonly Records[], request: SearchRequest): Iterable<string> {
  return joined(searchResultParts(rows, request));
}

/** `last` are the members after all others. */
function getResultParts(records: Records, include: Include, last = ""): Parts {
  const parts: Parts = [];
  for (const [prefix, column] of recordColumns(include)) {
    parts.push(prefix);
    pushList(parts, records, column);
  }
  parts.push(`,"include":${JSON.stringify(include.keys)}${last}}`);
  return parts;
}

function queryResultParts(rows: readonly Records[], include: Include): Parts {
  const parts: Parts = [];
  const columns = recordColumns(include);
  columns.push([',"distances":', include.distances ? scores : null]);
  for (const [prefix, column] of columns) {
    parts.push(prefix);
    // Without a column there is one `null`, not one per query.
    if (column === null) parts.push("null");
    else pushLists(parts, rows, () => column);
  }
  parts.push(`,"include":${JSON.stringify(include.keys)}}`);
  return parts;
}

function searchResultParts(rows: readonly Records[], request: SearchRequest): Parts {
  const parts: Parts = [];
  const selects = request.searches.map(({ select }) => select);
  const columns: readonly (readonly [prefix: string, columnOf: (select: Select) => Column])[] = [
    ['{"ids":', () => ids],
    [',"documents":', (select) => (select.document ? documents : null)],
    [',"embeddings":', (select) => (select.embedding ? embeddings : null)],
    [',"metadatas":', selectedMetadata],
    [',"scores":', (select) => (select.score ? scores : null)],
  ];
  for (const [prefix, columnOf] of columns) {
    parts.push(prefix);
    pushLists(parts, rows, (index) => columnOf(selects[index]!));
  }
  parts.push(`,"select":${JSON.stringify(selects.map(({ keys }) => keys))}}`);
  return parts;
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
function pushLists(parts: Parts, rows: readonly Records[], columnOf: (index: number) => Column): void {
  parts.push("[");
  for (const [index, records] of rows.entries()) {
    if (index > 0) parts.push(",");
    pushList(parts, records, columnOf(index));
  }
  parts.push("]");
}

function pushList(parts: Parts, records: Records, column: Column): void {
  if (column === null) {
    parts.push("null");
    return;
  }
  parts.push("[");
  if (records.length <= SLICE_RECORDS) parts.push(() => column(records));
  else {
    for (let from = 0; from < records.length; from += SLICE_RECORDS) {
      if (from > 0) parts.push(",");
      parts.push(() => column(records.slice(from, from + SLICE_RECORDS)));
    }
  }
  parts.push("]");
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

function whole(parts: Parts): string {
  return parts.map(written).join("");
}

/** Small parts joined to pieces worth sending. */
function* joined(parts: Parts): Generator<string> {
  let chunk = "";
  for (const part of parts) {
    chunk += written(part);
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

function written(part: Parts[number]): string {
  return typeof part === "string" ? part : part();
}

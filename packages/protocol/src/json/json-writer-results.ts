/**
 * Replies of get, query and search as JSON. They are column-major: one list of ids, one of documents and so on, and a
 * column that was not asked for is `null`. Records come in batches, so every column is written beside the others, in
 * pieces, and the columns follow each other once all records are there.
 */
import { writeMetadata, writeVector } from "./json-writer.ts";
import { writeFloat32Array } from "./json-writer-float32.ts";
import { metadataCharacters, pieceEnd, writeLongMetadata, writeLongString } from "./json-writer-long.ts";
import type { GetRequest, Include, ReadToken, ResultRecord } from "../records/ast.ts";
import { writeRanges } from "../records/highlights.ts";
import type { HighlightRequest, SearchRequest, Select } from "../search/ast.ts";
import { type DocumentText, fromDocumentText } from "../records/document-text.ts";
import { type Explained, writeExplained } from "../search/explained.ts";

/** Records that are written at once, and characters of them: some milliseconds. */
const SLICE_RECORDS = 16;
const SLICE_CHARACTERS = 256 * 1024;
const SHORT_RECORDS = 512;
const SHORT_CHARACTERS = 64 * 1024;
/** About what one float takes. */
const FLOAT_CHARACTERS = 12;
/** Metadata keys that existing servers keep for themselves. */
const RESERVED_PREFIX = "chroma:";

type Records = readonly ResultRecord[];

/** Writes the items of one column. */
interface Column {
  /** With commas between them. */
  readonly write: (records: Records) => string;
  /** One item that may be long, in pieces; `null`: items are short. */
  readonly pieces: ((record: ResultRecord) => Generator<string>) | null;
}

interface ColumnShape {
  /** What stands before the column. */
  readonly prefix: string;
  /** The column of a list, `null` where that did not ask for it; without it the whole column is `null`. */
  readonly of: ((list: number) => Column | null) | null;
}

/** What a reply of records looks like. */
export interface ResultShape {
  readonly columns: readonly ColumnShape[];
  /** Lists of records; `null`: one, which is in no list itself. */
  readonly lists: number | null;
  /** The members after the columns. */
  readonly end: string;
}

/** What of a get says how its reply is written. */
export type GetFormat = Pick<GetRequest, "include" | "highlight" | "encoding">;

/** Takes the next piece of a column. */
export type WritePiece = (column: number, text: string) => void;

/** Reply of get: `{"ids", "embeddings", "documents", "uris", "metadatas", "include"}`, and what `highlight` adds. */
export function getShape({ include, highlight, encoding }: GetFormat): ResultShape {
  const vectors = encoding === "base64" ? BASE64_EMBEDDINGS : EMBEDDINGS;
  const columns = [...recordColumns(include, vectors), ...highlightColumns([highlight])];
  return { columns, lists: null, end: `,"include":${JSON.stringify(include.keys)}}` };
}

/** As `getShape`, with `read_token`. */
export function readShape(request: GetFormat, readToken: ReadToken): ResultShape {
  const shape = getShape(request);
  return { ...shape, end: `${shape.end.slice(0, -1)},"read_token":${readToken}}` };
}

/** Reply of query: as get with one list per query vector, and `distances`. */
export function queryShape(include: Include, lists: number): ResultShape {
  const columns = [...recordColumns(include), columnFor(',"distances":', include.distances, SCORES)];
  return { columns, lists, end: `,"include":${JSON.stringify(include.keys)}}` };
}

/**
 * Reply of search: `{"ids", "documents", "embeddings", "metadatas", "scores", "select"}`, one entry per search of the
 * request, in its order; and what `highlight` adds. With `traces`, `plans` and `why_not` where a search is to be explained.
 *
 * @param explained One per search, `null` for those that did not ask; `undefined`: none did.
 */
export function searchShape(
  { searches }: SearchRequest,
  explained?: readonly (Explained | null)[],
): ResultShape {
  const selects = searches.map(({ select }) => select);
  const column = (prefix: string, of: (select: Select) => Column | null): ColumnShape => ({
    prefix,
    of: (list) => of(selects[list]!),
  });
  const columns = [
    column('{"ids":', () => IDS),
    column(',"documents":', (select) => (select.document ? DOCUMENTS : null)),
    column(',"embeddings":', (select) => (select.embedding ? EMBEDDINGS : null)),
    column(',"metadatas":', selectedMetadata),
    column(',"scores":', (select) => (select.score ? SCORES : null)),
    ...highlightColumns(searches.map(({ highlight }) => highlight)),
  ];
  if (explained !== undefined) {
    const traces = (list: number): Column | null => (explained[list] ? TRACES : null);
    columns.push({ prefix: ',"traces":', of: traces });
  }
  const keys = JSON.stringify(selects.map((select) => select.keys));
  return { columns, lists: selects.length, end: `,"select":${keys}${writeExplained(explained)}}` };
}

/** Writes one reply, batch by batch. The columns are to follow each other, then comes what `end` returns. */
export class ResultWriter {
  readonly #shape: ResultShape;
  readonly #write: WritePiece;
  /** The list that is written; before the first, -1. */
  #list = -1;
  /** Its columns. */
  #columns: readonly (Column | null)[] = [];
  /** Records of it so far. */
  #records = 0;

  constructor(shape: ResultShape, write: WritePiece) {
    this.#shape = shape;
    this.#write = write;
    const open = shape.lists === null ? "" : "[";
    for (const [i, { prefix, of }] of shape.columns.entries())
      write(i, prefix + (of === null ? "null" : open));
  }

  /** Writes the records of consecutive lists, the first of which may have been begun. Pauses after each slice. */
  *batch(first: number, lists: readonly Records[]): Generator<void, undefined> {
    for (const [i, records] of lists.entries()) {
      this.#moveTo(first + i);
      for (let from = 0; from < records.length;) {
        const count = sliceLength(records, from);
        if (count === 0) yield* this.#long(records[from]!);
        else
          this.#slice(from === 0 && count === records.length ? records : records.slice(from, from + count));
        from += Math.max(count, 1);
        yield;
      }
    }
  }

  /** What follows after the columns, once all records are written. */
  end(): string {
    this.#moveTo(this.#shape.lists ?? 1);
    if (this.#shape.lists !== null) this.#each((of) => (of === null ? "" : "]"));
    return this.#shape.end;
  }

  /** Ends the list that is written, and those before `list`, and begins that. */
  #moveTo(list: number): void {
    const { lists, columns } = this.#shape;
    while (this.#list < list) {
      if (this.#list >= 0) this.#each((of, i) => (of === null || this.#columns[i] === null ? "" : "]"));
      this.#list++;
      this.#records = 0;
      if (this.#list === (lists ?? 1)) return;
      const comma = this.#list > 0 ? "," : "";
      this.#columns = columns.map(({ of }) => of?.(this.#list) ?? null);
      this.#each((of, i) => (of === null ? "" : comma + (this.#columns[i] === null ? "null" : "[")));
    }
  }

  #slice(records: Records): void {
    const comma = this.#records > 0 ? "," : "";
    this.#records += records.length;
    for (const [i, column] of this.#columns.entries()) {
      if (column !== null) this.#write(i, comma + column.write(records));
    }
  }

  /** One record that is long. */
  *#long(record: ResultRecord): Generator<void, undefined> {
    const comma = this.#records > 0 ? "," : "";
    this.#records++;
    for (const [i, column] of this.#columns.entries()) {
      if (column === null) continue;
      if (comma !== "") this.#write(i, comma);
      if (column.pieces === null) this.#write(i, column.write([record]));
      else {
        for (const piece of column.pieces(record)) {
          this.#write(i, piece);
          yield;
        }
      }
    }
  }

  #each(text: (of: ColumnShape["of"], column: number) => string): void {
    for (const [i, { of }] of this.#shape.columns.entries()) {
      const piece = text(of, i);
      if (piece !== "") this.#write(i, piece);
    }
  }
}

/** Whether all of it is written within a millisecond or so. */
export function isShortResult(lists: readonly Records[]): boolean {
  let records = 0;
  let characters = 0;
  for (const list of lists) {
    records += list.length;
    if (records > SHORT_RECORDS) return false;
    for (const record of list) characters += aboutCharacters(record);
    if (characters > SHORT_CHARACTERS) return false;
  }
  return true;
}

/** Records from `from` on that are written together; 0: the next one is long. */
function sliceLength(records: Records, from: number): number {
  let characters = 0;
  const end = Math.min(records.length, from + SLICE_RECORDS);
  for (let i = from; i < end; i++) {
    characters += aboutCharacters(records[i]!);
    if (characters > SLICE_CHARACTERS) return i - from;
  }
  return end - from;
}

function aboutCharacters({ embedding, document, metadata, trace }: ResultRecord): number {
  const vector = FLOAT_CHARACTERS * (embedding?.length ?? 0);
  const texts = (document?.length ?? 0) + (trace?.length ?? 0);
  return vector + texts + (metadata ? metadataCharacters(metadata) : 0);
}

/** The columns that get and query share. */
function recordColumns(include: Include, vectors = EMBEDDINGS): ColumnShape[] {
  return [
    columnFor('{"ids":', true, IDS),
    columnFor(',"embeddings":', include.embeddings, vectors),
    columnFor(',"documents":', include.documents, DOCUMENTS),
    columnFor(',"uris":', include.uris, URIS),
    columnFor(',"metadatas":', include.metadatas, VISIBLE_METADATA),
  ];
}

function columnFor(prefix: string, isWanted: boolean, column: Column): ColumnShape {
  return { prefix, of: isWanted ? () => column : null };
}

/** `highlights` and `snippets`, each only where one of the lists asks for it. */
function highlightColumns(asked: readonly (HighlightRequest | undefined)[]): ColumnShape[] {
  const column = (prefix: string, column: Column, isWanted: (list: number) => boolean): ColumnShape[] =>
    asked.some((_, list) => isWanted(list))
      ? [{ prefix, of: (list) => (isWanted(list) ? column : null) }]
      : [];
  return [
    ...column(',"highlights":', HIGHLIGHTS, (list) => asked[list] !== undefined),
    ...column(',"snippets":', SNIPPETS, (list) => typeof asked[list]?.snippet === "number"),
  ];
}

const IDS: Column = { write: (records) => itemsOf(records.map(({ id }) => id)), pieces: null };
const URIS: Column = { write: (records) => itemsOf(records.map(({ uri }) => uri ?? null)), pieces: null };
const EMBEDDINGS: Column = { write: embeddings, pieces: null };
const BASE64_EMBEDDINGS: Column = {
  write: (records) =>
    records.map(({ embedding }) => (embedding ? `"${base64OfVector(embedding)}"` : "null")).join(","),
  pieces: null,
};
const SCORES: Column = { write: scores, pieces: null };
const DOCUMENTS: Column = {
  write: (records) => itemsOf(records.map(({ document }) => textOf(document))),
  pieces: ({ document }) => writeLongString(document ?? null),
};
const HIGHLIGHTS: Column = {
  write: (records) =>
    records.map(({ highlights }) => (highlights === undefined ? "null" : writeRanges(highlights))).join(","),
  pieces: null,
};
const SNIPPETS: Column = {
  write: (records) => records.map(({ snippet }) => writeSnippet(snippet)).join(","),
  pieces: null,
};
const TRACES: Column = {
  write: (records) => records.map(({ trace }) => trace ?? "null").join(","),
  pieces: ({ trace = "null" }) => piecesOf(trace),
};
const VISIBLE_METADATA = metadataColumn((key) => !key.startsWith(RESERVED_PREFIX));
const WHOLE_METADATA = metadataColumn(() => true);

/** All fields with `#metadata`, else the selected ones. */
function selectedMetadata(select: Select): Column | null {
  if (select.metadata) return WHOLE_METADATA;
  if (select.fields.length === 0) return null;
  const fields = new Set(select.fields);
  return metadataColumn((key) => fields.has(key));
}

function metadataColumn(keep: (key: string) => boolean): Column {
  return {
    write: (records) => records.map(({ metadata }) => writeMetadata(metadata ?? null, keep)).join(","),
    pieces: ({ metadata }) => writeLongMetadata(metadata ?? null, keep),
  };
}

function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = pieceEnd(text, from);
    yield text.slice(from, end);
    from = end;
  }
}

function embeddings(records: Records): string {
  return records.map(({ embedding }) => (embedding ? writeVector(embedding) : "null")).join(",");
}

/** The bytes of its values, little-endian as memory is on every machine that the server runs on. */
function base64OfVector({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

function scores(records: Records): string {
  const values = new Float32Array(records.length);
  for (let index = 0; index < values.length; index += 1) values[index] = records[index]?.score ?? Number.NaN;
  return writeFloat32Array(values, "2.0").slice(1, -1);
}

function writeSnippet(snippet: ResultRecord["snippet"]): string {
  if (snippet === undefined) return "null";
  const { text, start, ranges } = snippet;
  return `{"text":${JSON.stringify(text)},"start":${start},"highlights":${writeRanges(ranges)}}`;
}

function textOf(document: DocumentText | null | undefined): string | null {
  if (typeof document === "string") return document;
  return document ? fromDocumentText(document) : null;
}

/** What stands between the brackets of the list. */
function itemsOf(values: readonly (string | null)[]): string {
  return JSON.stringify(values).slice(1, -1);
}

/**
 * Reads the records that match at one moment, and writes them as lines. Their ids are read at once, with the token of that
 * state, and then the records by their ids: what is written or removed meanwhile shifts nothing. The server refuses a page
 * whose records are not any more as they were; from there on they are taken as they are, and whoever asked is told.
 */
import { ConflictError } from "@sheaf/client";
import type { JsonObject } from "../parts/json-text.ts";
import {
  type Asked,
  type StoredRecord,
  ask,
  collectionPath,
  plainFields,
} from "../session/ask-collection.ts";
import { EXPORT_HEAD, columnOf, csvLine, textCell, valueCell } from "./csv.ts";
import { parseExact, stringifyExact } from "./exact-json.ts";

export interface ReadRecords {
  readonly records: readonly StoredRecord[];
  /** There are more than are read. */
  readonly isCut: boolean;
  /** Some are not as they were when the first one was read. */
  readonly isChanged: boolean;
  /** Those that were deleted meanwhile, or do not match any more. */
  readonly gone: number;
}

interface ReadOptions {
  readonly where: JsonObject | null;
  readonly most: number;
  readonly signal: AbortSignal;
  readonly onProgress: (records: number) => void;
}

interface Begin {
  readonly ids: readonly string[];
  readonly read_token: number;
}

interface Columns {
  readonly ids: readonly string[];
  readonly documents: readonly (string | null)[] | null;
  readonly metadatas: readonly (JsonObject | null)[] | null;
  readonly uris: readonly (string | null)[] | null;
}

const PAGE = 500;

export async function readRecords(asked: Asked, options: ReadOptions): Promise<ReadRecords> {
  const { most, signal, onProgress } = options;
  const where = options.where ?? undefined;
  const begin = { where, include: [], limit: most + 1 };
  const { ids, read_token } = await ask<Begin>(asked, "/conditional/get", begin, signal);
  const records: StoredRecord[] = [];
  let token: number | undefined = read_token;
  const wanted = Math.min(ids.length, most);
  for (let at = 0; at < wanted; at += PAGE) {
    const page = { ids: ids.slice(at, Math.min(at + PAGE, wanted)), where };
    try {
      records.push(...(await readPage(asked, { ...page, read_token: token }, signal)));
    } catch (error) {
      if (!(error instanceof ConflictError) || token === undefined) throw error;
      token = undefined;
      records.push(...(await readPage(asked, page, signal)));
    }
    onProgress(records.length);
  }
  const isChanged = token === undefined;
  return { records, isCut: ids.length > most, isChanged, gone: wanted - records.length };
}

async function readPage(
  { client, collection }: Asked,
  page: object,
  signal: AbortSignal,
): Promise<readonly StoredRecord[]> {
  const text = await client.request<string>({
    method: "POST",
    path: `${collectionPath(collection)}/conditional/get`,
    json: { ...page, include: ["documents", "metadatas", "uris"] },
    text: true,
    signal,
  });
  const { ids, documents, metadatas, uris } = parseExact(text) as Columns;
  return ids.map((id, i) => ({
    id,
    document: documents?.[i] ?? null,
    metadata: plainFields(metadatas?.[i] ?? null),
    uri: uris?.[i] ?? null,
  }));
}

export function asJsonLines(records: readonly StoredRecord[]): readonly string[] {
  return records.map((record) => `${stringifyExact(record)}\n`);
}

export function asCsv(records: readonly StoredRecord[]): readonly string[] {
  const fields = new Set<string>();
  for (const { metadata } of records) for (const field of Object.keys(metadata ?? {})) fields.add(field);
  const head = csvLine([...EXPORT_HEAD, ...[...fields].map(columnOf)].map(textCell));
  const lines = records.map(({ id, document, uri, metadata }) => {
    const values = [...fields].map((field) =>
      metadata !== null && Object.hasOwn(metadata, field) ? valueCell(metadata[field]) : "",
    );
    return csvLine([textCell(id), textCell(document), textCell(uri), ...values]);
  });
  return [head, ...lines];
}

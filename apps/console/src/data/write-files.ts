/** Stores what was read from files. The server embeds it, and cuts documents that are longer than its model takes. */
import { type Chunking, SheafApiError } from "@sheaf/client";
import { type Asked, collectionPath } from "../session/ask-collection.ts";
import { stringifyExact } from "./exact-json.ts";
import type { NewRecord } from "./new-record.ts";
import type { ReadFile } from "./read-files.ts";
import { NONE_REFUSED, type Refused, refuse } from "./refused.ts";

export interface Written {
  readonly stored: number;
  /** By the server, with file and line. */
  readonly refused: Refused;
}

export interface WriteOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (written: Written) => void;
  /** What an attempt with the same files has done before: this one goes on there. */
  readonly before?: Written;
}

const BATCH = 100;
/** A document may be cut into thousands of chunks, which are embedded before the request ends. */
const LONG_BATCH = 4;
/** Then it is not about them, but about what all of them are stored in. */
const MOST_REFUSED_TOGETHER = 100;
/** A refusal with one of these is not about records: the key, the collection, its model, or how much is asked at a time. */
const OF_THE_CALL: ReadonlySet<number> = new Set([401, 403, 404, 409, 429]);
const SERVER_ERROR = 500;
/** Where the one record of a request is named; a line has the member without the list. */
const OF_ONE = /^(id|embedding|document|uri|metadata)s\[0\]/u;

interface Item {
  readonly record: NewRecord;
  readonly file: ReadFile;
}

/**
 * A batch that is refused is halved down to the records that are the reason; all others are stored.
 *
 * @throws What the client throws where it is not about records; what was stored until then stays.
 */
export async function writeFiles(
  asked: Asked,
  files: readonly ReadFile[],
  { signal, onProgress, before = { stored: 0, refused: NONE_REFUSED } }: WriteOptions,
): Promise<void> {
  const cuts = (asked.collection.info.schema.chunking?.by ?? "none") !== "none";
  let { stored, refused } = before;
  let together = 0;
  const write = async (batch: readonly Item[], chunking: Chunking | null): Promise<void> => {
    try {
      await upsert(asked, batch, chunking, signal);
      stored += batch.length;
      together = 0;
    } catch (error) {
      if (!isAboutRecords(error)) throw error;
      const [first] = batch;
      if (first !== undefined && batch.length === 1) {
        refused = refuse(refused, refusalOf(first, error));
        if (++together === MOST_REFUSED_TOGETHER) throw tooManyRefused();
      } else {
        const half = batch.length >> 1;
        await write(batch.slice(0, half), chunking);
        await write(batch.slice(half), chunking);
      }
    } finally {
      onProgress({ stored, refused });
    }
  };
  let skipped = 0;
  const done = stored + refused.count;
  for (const { chunking, size, items } of groupsOf(files, cuts)) {
    const begin = Math.min(items.length, done - skipped);
    skipped += begin;
    for (let at = begin; at < items.length; at += size) await write(items.slice(at, at + size), chunking);
  }
}

function isAboutRecords(error: unknown): error is SheafApiError {
  return error instanceof SheafApiError && !OF_THE_CALL.has(error.status) && error.status < SERVER_ERROR;
}

function refusalOf({ record, file }: Item, { message }: Error): string {
  const place = record.place === "" ? "" : `, ${record.place}`;
  return `${file.name}${place}: ${message.replace(OF_ONE, "$1")}`;
}

function tooManyRefused(): Error {
  return new Error(`${MOST_REFUSED_TOGETHER} records were refused one after the other: no more are sent.`);
}

/** Not by the method of the client, for numbers that a browser does not know. */
async function upsert(
  { client, collection }: Asked,
  batch: readonly Item[],
  chunking: Chunking | null,
  signal: AbortSignal,
): Promise<void> {
  const column = (name: "document" | "uri" | "embedding" | "metadata"): unknown => {
    const values = batch.map(({ record }) => record[name]);
    return values.every((value) => value === null) ? undefined : values;
  };
  const body = stringifyExact({
    ids: batch.map(({ record }) => record.id),
    documents: column("document"),
    uris: column("uri"),
    embeddings: column("embedding"),
    metadatas: column("metadata"),
    chunking: chunking ?? undefined,
  });
  await client.request({ method: "POST", path: `${collectionPath(collection)}/upsert`, body, signal });
}

interface Group {
  readonly chunking: Chunking | null;
  /** Records of a request. */
  readonly size: number;
  readonly items: Item[];
}

/** What is cut alike goes together. A collection that cuts goes on as it says, but what is a chunk already is not cut again. */
function groupsOf(files: readonly ReadFile[], cuts: boolean): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const file of files) {
    for (const record of file.records) {
      const whole: Chunking | null = cuts && isWhole(record) ? { by: "none" } : null;
      const chunking = whole ?? (cuts ? null : file.chunking);
      const size = file.chunking === null ? BATCH : LONG_BATCH;
      const kind = `${chunking?.by ?? ""} ${size}`;
      const group = groups.get(kind) ?? { chunking, size, items: [] };
      group.items.push({ record, file });
      groups.set(kind, group);
    }
  }
  return [...groups.values()];
}

/** Has its vector, or is a chunk as an export has it. */
function isWhole({ id, embedding, metadata }: NewRecord): boolean {
  const parent = metadata?.["parent"];
  const isChunk = typeof parent === "string" && id.startsWith(`${parent}#`) && /#\d+$/u.test(id);
  return embedding !== null || isChunk;
}

/** Records to write, as a program has them and as columns of a request. */
import type { Chunking } from "../catalog/schema.ts";
import type { SheafClientError } from "../errors.ts";
import { type MembersOf, requireArray, requireKnown } from "../require-known.ts";
import { CALL, type CallOptions } from "../transport.ts";
import { base64OfFloats } from "./base64.ts";
import { type BatchLimits, batchesOf } from "./batches.ts";
import { type Metadata, type MetadataPatch, metadataJson, requireMetadata } from "./metadata.ts";

interface RecordParts {
  readonly id: string;
  /** Left out, the server embeds `document` with the collection's model. */
  readonly embedding?: ArrayLike<number> | null | undefined;
  readonly document?: string | null | undefined;
  readonly uri?: string | null | undefined;
}

/** A record to add. */
export interface RecordInput<M = Metadata> extends RecordParts {
  readonly metadata?: M | null | undefined;
}

/** A record to change: what is left out stays as it is. */
export interface RecordChange<M = Metadata> extends RecordParts {
  readonly metadata?: MetadataPatch<M> | null | undefined;
}

export interface WriteProgress {
  /** Records that are stored so far. */
  readonly written: number;
  readonly total: number;
}

export interface WriteParams<R> extends CallOptions {
  readonly records: readonly R[];
  /** Records in one request at most; what the server takes if omitted, and 100 where it embeds their documents. */
  readonly batchSize?: number | undefined;
  /** How documents are cut, whatever the collection's schema says; as that says if omitted. */
  readonly chunking?: Chunking | undefined;
  /** Called after each request. */
  readonly onProgress?: ((progress: WriteProgress) => void) | undefined;
}

/** What the server takes in one request. */
export interface WriteLimits {
  readonly maxBatchSize: number;
  readonly supportsBase64Encoding: boolean;
}

type AnyRecord = RecordInput | RecordChange;

const RECORD: MembersOf<RecordInput> = {
  id: true,
  embedding: true,
  document: true,
  uri: true,
  metadata: true,
};
export const WRITE: MembersOf<WriteParams<AnyRecord>> = {
  records: true,
  batchSize: true,
  chunking: true,
  onProgress: true,
  ...CALL,
};

/** A batch is embedded whole before it is stored: small ones report progress and stay within deadlines. */
const EMBEDDED_BATCH = 100;
/** A fourth of what a server takes: escapes and other letters than Latin ones may take three bytes a character. */
const BATCH_BYTES = 16 * 1024 * 1024;
const BYTES_PER_BASE64_FLOAT = 16 / 3;
const BYTES_PER_DECIMAL = 20;

/** `ids[3]` of a message, or a quoted text. */
const PLACE = /"(?:[^"\\]|\\.)*"|\b(ids|embeddings|documents|uris|metadatas)\[(\d+)\]/gu;

/** Whether the server's limits matter: else a write of a few texts goes without asking for them. */
export function needsLimits(records: readonly AnyRecord[]): boolean {
  return records.length > EMBEDDED_BATCH || records.some(hasEmbedding);
}

export function requireRecords(records: readonly AnyRecord[], path: string): void {
  for (const [i, record] of requireArray(records, path).entries()) {
    const { embedding, metadata } = requireKnown(record, RECORD, `${path}[${i}]`);
    requireMetadata(metadata, `${path}[${i}].metadata`);
    if (!areNumbers(embedding)) throw new TypeError(`${path}[${i}].embedding: must be an array of numbers`);
  }
}

/** Typed arrays hold nothing else. */
function areNumbers(embedding: unknown): boolean {
  if (embedding === null || embedding === undefined || ArrayBuffer.isView(embedding)) return true;
  if (typeof embedding !== "object") return false;
  const values: readonly unknown[] = Array.isArray(embedding)
    ? embedding
    : Array.from(embedding as ArrayLike<unknown>);
  return values.every((value) => typeof value === "number");
}

/**
 * An error of one request of several, in terms of the whole write: places in the records that the caller gave, and how many
 * of those before are stored. Quoted texts stay as they are.
 */
export function inWholeWrite(error: SheafClientError, written: number): SheafClientError {
  error.recordsWritten = written;
  if (written === 0) return error;
  const placed = error.message.replace(PLACE, (found, column?: string, index?: string) =>
    column === undefined ? found : `${column}[${Number(index) + written}]`,
  );
  error.message = `${placed} (the ${written} records before this request are stored)`;
  return error;
}

export function requireBatchSize(batchSize: number | undefined): void {
  if (batchSize === undefined || (Number.isInteger(batchSize) && batchSize > 0)) return;
  throw new TypeError("params.batchSize: must be a positive integer");
}

export function writeBatches(
  records: readonly AnyRecord[],
  { maxBatchSize, supportsBase64Encoding }: WriteLimits,
  batchSize?: number,
): Iterable<readonly AnyRecord[]> {
  const isEmbedded = records.some((record) => !hasEmbedding(record) && typeof record.document === "string");
  const most = batchSize ?? (isEmbedded ? EMBEDDED_BATCH : maxBatchSize);
  const limits: BatchLimits = { records: Math.min(most, maxBatchSize), bytes: BATCH_BYTES };
  const perNumber = supportsBase64Encoding ? BYTES_PER_BASE64_FLOAT : BYTES_PER_DECIMAL;
  return batchesOf(records, limits, ({ id, document, uri, embedding, metadata }) => {
    const texts = [id, document, uri].reduce((sum, text) => sum + (text?.length ?? 0), 0);
    const numbers = (embedding?.length ?? 0) * perNumber;
    return texts + numbers + (metadata === undefined ? 0 : JSON.stringify(metadata).length);
  });
}

/** The wire is column-major; a column that no record fills is left out. */
export function columnsOf(records: readonly AnyRecord[], isBase64: boolean): object {
  const column = <T>(pick: (record: AnyRecord) => T): (T | null)[] | undefined => {
    const values = records.map((record) => pick(record) ?? null);
    return values.every((value) => value === null) ? undefined : values;
  };
  return {
    ids: records.map(({ id }) => id),
    embeddings: column(({ embedding }) => {
      if (embedding === null || embedding === undefined) return null;
      return isBase64 ? base64OfFloats(embedding) : Array.from(embedding);
    }),
    documents: column(({ document }) => document),
    uris: column(({ uri }) => uri),
    metadatas: column(({ metadata }) => metadataJson(metadata)),
  };
}

function hasEmbedding({ embedding }: AnyRecord): boolean {
  return embedding !== null && embedding !== undefined;
}

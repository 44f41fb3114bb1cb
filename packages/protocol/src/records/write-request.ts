/**
 * The body of `POST .../add`, `.../update` and `.../upsert`: columns of equal length, turned into records. Vectors
 * may be missing in every kind; whether the server can make them from the documents is known to those behind.
 *
 * The records are not frozen one by one: a write holds up to 100,000 of them.
 */
import { parseEmbedding } from "../dense-vector-parser.ts";
import { invalid } from "../errors.ts";
import {
  exceedsBytes,
  itemPath,
  itemsOf,
  membersOf,
  optional,
  required,
  stringOf,
  type Members,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { parseMetadata, parseMetadataPatch } from "../metadata-parser.ts";
import type { MetadataPatch } from "../metadata.ts";
import type { WriteKind, WriteRecord, WriteRequest } from "./ast.ts";
import { parseChunking } from "./chunking.ts";
import { type DocumentText, toDocumentText } from "./document-text.ts";

/**
 * @throws SheafError 422 for wrong JSON types, missing `ids` and a `null` in the metadata of `add`; 400 for empty
 * ids, columns of unequal length, vectors of unequal dimension or not finite, bounds, and as `parseChunking` does.
 */
export function parseWriteRequest(kind: WriteKind, body: unknown): WriteRequest {
  const members = membersOf(body, "");
  const ids = parseIds(required(members, "ids", ""));
  const embeddings = parseColumn(members, "embeddings", { length: ids.length, parse: parseEmbedding });
  const documents = parseColumn(members, "documents", { length: ids.length, parse: parseDocument });
  const uris = parseColumn(members, "uris", { length: ids.length, parse: parseUri });
  const metadatas = parseColumn(members, "metadatas", {
    length: ids.length,
    parse: kind === "add" ? parseMetadata : parseMetadataPatch,
  });
  checkDimensions(embeddings);
  const records = ids.map((id, index): WriteRecord => ({
    id,
    embedding: embeddings?.[index] ?? null,
    document: documents?.[index] ?? null,
    uri: uris?.[index] ?? null,
    metadata: withoutEmpty(metadatas?.[index]),
  }));
  const chunking = optional(members, "chunking");
  if (chunking === undefined) return Object.freeze({ kind, records });
  return Object.freeze({ kind, records, chunking: parseChunking(chunking, "chunking") });
}

function parseIds(value: unknown): readonly string[] {
  const items = itemsOf(value, "ids");
  if (items.length > LIMITS.recordsPerWrite) {
    throw invalid("ids", `holds ${items.length} records, the limit is ${LIMITS.recordsPerWrite}`);
  }
  return items.map((item, index) => {
    const id = stringOf(item, itemPath("ids", index));
    if (id === "") throw invalid(itemPath("ids", index), "Empty ID, ID must have at least one character");
    if (exceedsBytes(id, LIMITS.idBytes)) {
      throw invalid(itemPath("ids", index), `is over ${LIMITS.idBytes} bytes`);
    }
    return id;
  });
}

interface Column<Value> {
  readonly length: number;
  readonly parse: (value: unknown, path: string) => Value;
}

/** One value or `null` per record; `null` for a column that was not sent. */
function parseColumn<Value>(
  members: Members,
  key: string,
  { length, parse }: Column<Value>,
): readonly (Value | null)[] | null {
  const value = optional(members, key);
  if (value === undefined) return null;
  const items = itemsOf(value, key);
  if (items.length !== length) {
    throw invalid(
      key,
      "Inconsistent number of IDs, embeddings, documents, URIs and metadatas: " +
        `${length} ids, ${items.length} ${key}`,
    );
  }
  return items.map((item, index) => (item === null ? null : parse(item, itemPath(key, index))));
}

function parseDocument(value: unknown, path: string): DocumentText {
  return toDocumentText(boundedText(value, path, LIMITS.documentBytes));
}

function parseUri(value: unknown, path: string): string {
  return boundedText(value, path, LIMITS.uriBytes);
}

function boundedText(value: unknown, path: string, limit: number): string {
  const text = stringOf(value, path);
  if (exceedsBytes(text, limit)) throw invalid(path, `is over ${limit} bytes`);
  return text;
}

function checkDimensions(embeddings: readonly (Float32Array | null)[] | null): void {
  let expected: number | null = null;
  for (const [index, embedding] of (embeddings ?? []).entries()) {
    if (embedding === null) continue;
    expected ??= embedding.length;
    if (embedding.length !== expected) {
      throw invalid(
        itemPath("embeddings", index),
        `Inconsistent dimensions in provided embeddings: ${expected} and ${embedding.length}`,
      );
    }
  }
}

/** Metadata without keys is read back as none. */
function withoutEmpty(metadata: MetadataPatch | null | undefined): MetadataPatch | null {
  return metadata === null || metadata === undefined || metadata.size === 0 ? null : metadata;
}

/**
 * The select stage: positions become records with the fields that were asked for. What the index holds comes from
 * there; documents, URIs, stored vectors and sparse vectors come from the store.
 */
import { type Include, type Metadata, type ResultRecord, type Select, isSparseVector } from "@sheaf/protocol";
import { type Steps, isInSteps } from "../storage/steps.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import type { RecordContent, RecordView } from "./record-view.ts";

export interface Fields {
  readonly document: boolean;
  readonly embedding: boolean;
  readonly uri: boolean;
  readonly score: boolean;
  /** All metadata, none, or single keys. */
  readonly metadata: boolean | readonly string[];
}

export function fieldsOfSelect({ document, embedding, metadata, score, fields }: Select): Fields {
  return {
    document,
    embedding,
    uri: false,
    score,
    metadata: metadata || (fields.length > 0 && fields),
  };
}

export function fieldsOfInclude({ documents, embeddings, metadatas, uris, distances }: Include): Fields {
  return {
    document: documents,
    embedding: embeddings,
    uri: uris,
    score: distances,
    metadata: metadatas,
  };
}

/** Whether every record is read, and its vector not shown. */
export function readsContent({ document, uri, embedding }: Fields): boolean {
  return (document || uri) && !embedding;
}

export type RecordInMaking = { -readonly [Field in keyof ResultRecord]: ResultRecord[Field] };

/** Everything but the score, in steps where a long record is read. */
export function selectRecord(position: number, fields: Fields, view: RecordView): Steps<RecordInMaking> {
  const needsStore = fields.document || fields.embedding || fields.uri;
  const indexed = needsStore || fields.metadata === false ? null : view.snapshot.metadata(position);
  if (!needsStore && inIndex(indexed, fields.metadata)) {
    const record: RecordInMaking = { id: view.snapshot.id(position) };
    if (fields.metadata !== false) record.metadata = selectMetadata(indexed, fields.metadata);
    return record;
  }
  const stored = view.readInSteps(position, fields.embedding);
  return isInSteps(stored) ? selectInSteps(stored, fields) : selectFields(stored, fields);
}

function* selectInSteps(
  stored: Generator<void, RecordContent | StoredRecord>,
  fields: Fields,
): Generator<void, RecordInMaking> {
  return selectFields(yield* stored, fields);
}

/** Field by field: a spread for each that may be missing takes microseconds. */
function selectFields(stored: RecordContent | StoredRecord, fields: Fields): RecordInMaking {
  const record: RecordInMaking = { id: stored.id };
  if (fields.document) record.document = stored.document;
  if (fields.uri) record.uri = stored.uri;
  if (fields.embedding) record.embedding = (stored as StoredRecord).embedding;
  if (fields.metadata !== false) record.metadata = selectMetadata(stored.metadata, fields.metadata);
  return record;
}

/** Whether the index has all of the metadata that is asked for: it keeps no sparse vectors. */
function inIndex(metadata: Metadata | null, wanted: Fields["metadata"]): boolean {
  if (metadata === null || wanted === false) return true;
  const keys = wanted === true ? metadata.keys() : wanted;
  for (const key of keys) {
    const value = metadata.get(key);
    if (value !== undefined && isSparseVector(value)) return false;
  }
  return true;
}

function selectMetadata(metadata: Metadata | null, wanted: true | readonly string[]): Metadata | null {
  if (metadata === null) return null;
  const selected =
    wanted === true ? metadata : new Map([...metadata].filter(([key]) => wanted.includes(key)));
  return selected.size === 0 ? null : selected;
}

/**
 * Documents that are cut into chunks, as a batch changes them. Chunks of X are the records `X#0` to `X#n` whose `parent`
 * is X: writes and deletes of X act on all of them, and what a new text has fewer of goes in the same commit. Metadata and
 * URI are the document's: all chunks have them, old and new ones. A record that is no chunk of X is never taken for one.
 */
import {
  CHUNK_KEYS,
  DOCUMENT_KEY,
  type JsonObject,
  LIMITS,
  type Metadata,
  type RecordChunk,
  SheafError,
  type WriteKind,
  type WriteRecord,
  chunkId,
  chunkMetadata,
  indexPlan,
  isChunkOf,
  parentOfId,
  refuseChunkId,
  refuseChunkKeys,
  refuseKeysOfChunk,
} from "@sheaf/protocol";
import { isInSteps } from "../../storage/steps.ts";
import type { StoreView } from "../../storage/record-store.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import { metadataBytes } from "../../storage/values/record-bytes.ts";
import { type PlannedBatch, mergeMetadata } from "./planned-batch.ts";

const IDS_PER_STEP = 256;

/** Where a record of a write stands in its request. */
export interface RecordPlace {
  readonly kind: WriteKind;
  /** `ids[3]`, `operations[1].payload.ids[3]`. */
  readonly path: string;
}

export class ChunkedDocuments {
  readonly #batch: PlannedBatch;
  /** Keys of vectors that are made of the document: those of one chunk say nothing of another. */
  readonly #ofText: readonly string[];
  #copiedBytes = 0;

  constructor(batch: PlannedBatch, schema: JsonObject) {
    this.#batch = batch;
    const { sparse } = indexPlan(schema);
    this.#ofText = sparse.flatMap(({ key, sourceKey }) => (sourceKey === DOCUMENT_KEY ? [key] : []));
  }

  /** `false`: the record is none of a document that is, or is going to be, cut; nothing was planned then. */
  *write(record: WriteRecord, place: RecordPlace): Generator<void, boolean> {
    const old = yield* this.#chunksOf(record.id);
    const { chunks } = record;
    if (chunks !== undefined) yield* this.#replace(record, chunks, { old, place });
    else if (old.length > 0) yield* this.#change(record, { old, place });
    else {
      yield* this.#requireNoChunk(record, place.path);
      return false;
    }
    return true;
  }

  /** Removes documents with their chunks, as far as they exist. */
  *remove(ids: Iterable<string>): Generator<void, void> {
    for (const id of ids) {
      yield;
      this.#batch.remove(id);
      yield* this.#removeAll(yield* this.#chunksOf(id));
    }
  }

  /** In the order of the text. */
  *#chunksOf(parent: string): Generator<void, StoredRecord[]> {
    const ids = new Set<string>(this.#batch.chunkIdsOf(parent));
    for (const id of yield* idsOfChunks(this.#batch.view, parent)) ids.add(id);
    const chunks: StoredRecord[] = [];
    for (const id of ids) {
      const record = yield* this.#find(id);
      if (record !== null && isChunkOf(parent, id, record.metadata)) chunks.push(record);
      yield;
    }
    return chunks.sort((a, b) => indexOf(a) - indexOf(b));
  }

  *#replace(
    record: WriteRecord,
    chunks: readonly RecordChunk[],
    { old, place }: { readonly old: readonly StoredRecord[]; readonly place: RecordPlace },
  ): Generator<void, void> {
    const { id: parent } = record;
    const { kind, path } = place;
    refuseChunkId(parent, path);
    const whole = yield* this.#find(parent);
    const before = old[0] ?? whole;
    if (kind === "add" ? before !== null : kind === "update" && before === null) return;
    refuseChunkKeys(record.metadata, `${path}.metadata`);
    const kept = mergeMetadata(this.#ofDocument(before?.metadata ?? null), record.metadata);
    const uri = record.uri ?? before?.uri ?? null;
    this.#countCopies({ metadata: kept, uri }, chunks.length, path);
    for (const [i, { start, end, embedding, document, metadata }] of chunks.entries()) {
      const id = chunkId(parent, i);
      const current = yield* this.#find(id);
      if (current !== null && !isChunkOf(parent, id, current.metadata)) throw taken(id, parent, path);
      const own = mergeMetadata(kept, metadata) ?? new Map();
      this.#batch.sequence += 1;
      const keys = chunkMetadata(own, parent, { start, end });
      refuseKeysOfChunk(keys, `${path}.metadata`);
      this.#batch.put({ id, embedding, document, uri, metadata: keys }, current, path);
      yield;
    }
    this.#batch.remove(parent);
    yield* this.#removeAll(old.filter((chunk) => indexOf(chunk) >= chunks.length));
  }

  /** A write without a text to cut: of metadata and URI, or of the whole record in place of its chunks. */
  *#change(
    record: WriteRecord,
    { old, place: { kind, path } }: { readonly old: readonly StoredRecord[]; readonly place: RecordPlace },
  ): Generator<void, void> {
    const { id, embedding, document, uri, metadata } = record;
    if (kind === "add") return;
    if (embedding !== null && document !== null) {
      const kept = mergeMetadata(this.#ofDocument(old[0]!.metadata), metadata);
      this.#batch.sequence += 1;
      this.#batch.put({ id, embedding, document, uri: uri ?? old[0]!.uri, metadata: kept }, null, path);
      yield* this.#removeAll(old);
      return;
    }
    if (embedding !== null || document !== null) {
      throw new SheafError(
        "already_exists",
        `${path}: the document ${JSON.stringify(id)} is cut into chunks; send its text and no embedding, or delete it first`,
      );
    }
    refuseChunkKeys(metadata, `${path}.metadata`);
    const kept = mergeMetadata(this.#ofDocument(old[0]!.metadata), metadata);
    this.#countCopies({ metadata: kept, uri: uri ?? old[0]!.uri }, old.length, path);
    for (const chunk of old) {
      this.#batch.sequence += 1;
      const merged = mergeMetadata(chunk.metadata, metadata);
      refuseKeysOfChunk(merged, `${path}.metadata`);
      this.#batch.put({ ...chunk, uri: uri ?? chunk.uri, metadata: merged }, chunk, path);
      yield;
    }
  }

  /** Before any is made: of a body of one megabyte may come thousands. */
  #countCopies(
    { metadata, uri }: Pick<StoredRecord, "metadata" | "uri">,
    chunks: number,
    path: string,
  ): void {
    const bytes = (metadata === null ? 0 : metadataBytes(metadata)) + 2 * (uri?.length ?? 0);
    this.#copiedBytes += bytes * chunks;
    if (this.#copiedBytes <= LIMITS.copiedBytes) return;
    const most = LIMITS.copiedBytes / 2 ** 20;
    throw new SheafError(
      "too_large",
      `${path}: with metadata and URI in each of the ${chunks} chunks of the document, the copies of this write take over ${most} MiB; send shorter ones, or fewer documents at once`,
    );
  }

  *#removeAll(chunks: readonly StoredRecord[]): Generator<void, void> {
    for (const { id } of chunks) {
      this.#batch.remove(id);
      yield;
    }
  }

  /** Without what one chunk alone has. */
  #ofDocument(metadata: Metadata | null): Metadata | null {
    if (metadata === null) return null;
    const kept = new Map(metadata);
    for (const key of [...CHUNK_KEYS, ...this.#ofText]) kept.delete(key);
    return kept.size === 0 ? null : kept;
  }

  /** A chunk changes with its document only. Whoever names that as its `parent` knows what it is. */
  *#requireNoChunk({ id, metadata }: WriteRecord, path: string): Generator<void, void> {
    const parent = parentOfId(id);
    if (parent === null || isChunkOf(parent, id, metadata)) return;
    const current = yield* this.#find(id);
    if (current !== null && isChunkOf(parent, id, current.metadata)) throw isChunk(id, parent, path);
  }

  *#find(id: string): Generator<void, StoredRecord | null> {
    const found = this.#batch.find(id);
    return isInSteps(found) ? yield* found : found;
  }
}

/** Ids that chunks of a document have in the store; records that are none may have some of them. */
export function* idsOfChunks(view: StoreView, parent: string): Generator<void, readonly string[]> {
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page: readonly string[] = view.idsUnder(`${parent}#`, after, IDS_PER_STEP);
    for (const id of page) if (parentOfId(id) === parent) ids.push(id);
    after = page.length < IDS_PER_STEP ? null : page.at(-1)!;
    yield;
  } while (after !== null);
  return ids;
}

/** Place of a chunk among those of its document. */
function indexOf({ id }: StoredRecord): number {
  return Number(id.slice(id.lastIndexOf("#") + 1));
}

function taken(id: string, parent: string, path: string): SheafError {
  return new SheafError(
    "already_exists",
    `${path}: a chunk of the document ${JSON.stringify(parent)} would have the id ${JSON.stringify(id)}, which another record has`,
  );
}

function isChunk(id: string, parent: string, path: string): SheafError {
  return new SheafError(
    "already_exists",
    `${path}: ${JSON.stringify(id)} is a chunk of the document ${JSON.stringify(parent)}; write that one`,
  );
}

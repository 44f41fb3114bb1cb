/**
 * The records behind an index snapshot. The store moves on while a read runs: a record that is no longer the version
 * that the index showed comes from the history of former versions. A view without a ticket for that, or whose ticket
 * has ended, throws `StaleSnapshot`, and the read starts over (see `snapshot-read.ts`).
 */
import { type MetadataValue, type Space, isSparseVector } from "@sheaf/protocol";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import { DocumentMemory, type BlockDocuments } from "../index/document-memory.ts";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { normalize } from "../kernels/distance.ts";
import type { QueryDistance } from "../kernels/value-memory.ts";
import type { PerhapsAbsent } from "../storage/data-absent.ts";
import { recordBytes } from "../storage/values/record-bytes.ts";
import { type Steps, isInSteps } from "../storage/steps.ts";
import type {
  DocumentVersion,
  StoredRecord,
  VectorDistance,
  VectorVersion,
} from "../storage/stored-record.ts";
import type { ReadTicket } from "../storage/version-history.ts";

/** The store, for what the index does not keep: documents, URIs, vectors as they were given. */
export interface ViewedStore extends PerhapsAbsent {
  /** `null` if it is gone. The vector may lie in `into` if that is as long. */
  read(offset: number, into?: Float32Array): StoredRecord | null;
  /** `read` in steps where it takes long. */
  readInSteps(offset: number, into?: Float32Array): Steps<StoredRecord | null>;
  /** The document alone; its bytes are others after the next read. `null` as `read`. */
  readDocument(offset: number): DocumentVersion | null;
  /** About as many bytes as the document has. */
  documentBytes(offset: number): number;
  /** The vector alone; `null` as `read`. */
  readVector(offset: number): VectorVersion | null;
  /** How far the record's vector is from a query; `null` as `read`. */
  readDistance(offset: number, query: QueryDistance): VectorDistance | null;
  /** Until these can be read at once, if some have to be fetched. */
  prepare?(offsets: readonly number[]): Promise<void> | undefined;
  /** Some may have to be fetched. */
  readonly isCold?: boolean;
  /** Throws `DataAbsent` where some have to be fetched. */
  require?(offsets: readonly number[]): void;
}

export class StaleSnapshot extends Error {
  override readonly name = "StaleSnapshot";
  /** Of the record that is another one now, or gone. */
  readonly id: string;

  constructor(id: string) {
    super("a record changed after the snapshot");
    this.id = id;
  }
}

/** Records, and bytes of them, kept until they are read; documents may be long. */
const MAX_AHEAD = 1_000;
const MAX_AHEAD_BYTES = 1024 * 1024;

/** A record without its vector. */
export type RecordContent = Omit<StoredRecord, "embedding">;

export class RecordView {
  readonly snapshot: IndexSnapshot;
  readonly #reader: ViewedStore;
  #ticket: ReadTicket | null;
  readonly #documents: DocumentMemory;
  /** Of the block whose documents are read. */
  #kept: BlockDocuments | null = null;
  #keptBlock = -1;
  /** For vectors of records that are read ahead: memory for each would have to be collected. */
  #scratch: Float32Array | undefined;
  /** By position, what came with a vector; and how many more may, and bytes of them. */
  readonly #ahead = new Map<number, RecordContent>();
  #readsAhead = 0;
  #aheadBytes = 0;

  constructor(
    snapshot: IndexSnapshot,
    reader: ViewedStore,
    ticket: ReadTicket | null,
    documents = new DocumentMemory(),
  ) {
    this.snapshot = snapshot;
    this.#reader = reader;
    this.#ticket = ticket;
    this.#documents = documents;
  }

  /** From here on former versions are found: the ticket covers the snapshot. */
  hold(ticket: ReadTicket): void {
    this.#ticket = ticket;
  }

  /** A value of the record's metadata. The index has all but sparse vectors, which are read. */
  metadataValue(position: number, key: string): MetadataValue | undefined {
    const value = this.snapshot.metadataValue(position, key);
    if (value === undefined || !isSparseVector(value)) return value;
    return this.read(position).metadata?.get(key);
  }

  read(position: number): RecordContent {
    return this.#ahead.get(position) ?? this.#read(position, this.#scratch);
  }

  /** The document in UTF-8, until the next read; `null`: it has none. */
  document(position: number): Uint8Array | null {
    const row = position % BLOCK_DOCS;
    const kept = this.#keptOf(Math.floor(position / BLOCK_DOCS));
    const known = kept.get(row);
    if (known !== undefined) return known;
    const document = this.#readDocument(position);
    kept.keep(row, document);
    return document;
  }

  #keptOf(block: number): BlockDocuments {
    if (this.#kept === null || this.#keptBlock !== block) {
      this.#kept = this.#documents.of(this.snapshot.blocks[block]!);
      this.#keptBlock = block;
    }
    return this.#kept;
  }

  #readDocument(position: number): Uint8Array | null {
    const version = this.#reader.readDocument(this.snapshot.offset(position));
    if (version?.sequence === this.snapshot.sequence(position)) return version.document;
    const { document } = this.#former(position);
    return typeof document === "string" ? Buffer.from(document) : document;
  }

  /** `read` in steps where it takes long; with the vector if so asked. */
  readInSteps(position: number, withVector: boolean): Steps<RecordContent | StoredRecord> {
    const known = withVector ? undefined : this.#ahead.get(position);
    if (known !== undefined) return known;
    const into = withVector ? undefined : this.#scratch;
    const read = this.#reader.readInSteps(this.snapshot.offset(position), into);
    return isInSteps(read) ? this.#readLong(read, position) : this.#ofSnapshot(read, position);
  }

  *#readLong(steps: Generator<void, StoredRecord | null>, position: number): Generator<void, StoredRecord> {
    return this.#ofSnapshot(yield* steps, position);
  }

  /** Has the first records among these fetched, if they have to be. */
  prepare(positions: Int32Array): Promise<void> | undefined {
    if (!this.isCold) return undefined;
    const offsets = [...positions.subarray(0, MAX_AHEAD)].map((position) => this.snapshot.offset(position));
    return this.#reader.prepare?.(offsets);
  }

  /** Where the records come from. */
  get source(): PerhapsAbsent {
    return this.#reader;
  }

  /** Some records may have to be fetched. */
  get isCold(): boolean {
    return this.#reader.isCold === true;
  }

  /** These will be read: where some have to be fetched, the read stops for all of them at once. */
  require(positions: readonly number[]): void {
    this.#reader.require?.(positions.map((position) => this.snapshot.offset(position)));
  }

  /** About as many bytes as the newest document of the record has. */
  documentBytes(position: number): number {
    return this.#reader.documentBytes(this.snapshot.offset(position));
  }

  /** The next distances, about so many, are of records that will most likely be read: that then costs nothing more. */
  readAhead(count: number): void {
    this.#ahead.clear();
    this.#aheadBytes = 0;
    this.#readsAhead = Math.min(count, MAX_AHEAD);
  }

  /** The record's vector, of length 1 or all zeros; `space` is that of the index. */
  unitVector(position: number, space: Space, unit: Float32Array): void {
    const held = this.snapshot.vector(position);
    // To make it of length 1 twice is not the same to the bit.
    if (held !== null && space === "cosine") unit.set(held);
    else normalize(held ?? this.#readVector(position), unit);
  }

  #readVector(position: number): Float32Array {
    const stored = this.#reader.readVector(this.snapshot.offset(position));
    return stored?.sequence === this.snapshot.sequence(position)
      ? stored.embedding
      : this.#former(position).embedding;
  }

  /** How far the record's vector is from a query, as f32. */
  distance(position: number, query: QueryDistance): number {
    const held = this.snapshot.vector(position);
    if (held !== null) return query.toPrepared(held);
    if (this.#readsAhead > 0) return this.#distanceAhead(position, query);
    const stored = this.#reader.readDistance(this.snapshot.offset(position), query);
    return stored?.sequence === this.snapshot.sequence(position)
      ? stored.distance
      : query.to(this.#former(position).embedding);
  }

  #distanceAhead(position: number, query: QueryDistance): number {
    this.#scratch ??= new Float32Array(query.prepared.length);
    const record = this.#read(position, this.#scratch);
    this.#aheadBytes += recordBytes(record);
    this.#readsAhead = this.#aheadBytes < MAX_AHEAD_BYTES ? this.#readsAhead - 1 : 0;
    this.#ahead.set(position, record);
    return query.to(record.embedding);
  }

  #read(position: number, into: Float32Array | undefined): StoredRecord {
    return this.#ofSnapshot(this.#reader.read(this.snapshot.offset(position), into), position);
  }

  #ofSnapshot(record: StoredRecord | null, position: number): StoredRecord {
    return record?.sequence === this.snapshot.sequence(position) ? record : this.#former(position);
  }

  #former(position: number): StoredRecord {
    const { snapshot } = this;
    const record = this.#ticket?.find(snapshot.offset(position), snapshot.sequence(position)) ?? null;
    if (record !== null) return record;
    throw new StaleSnapshot(snapshot.id(position));
  }
}

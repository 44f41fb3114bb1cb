/**
 * The records behind an index snapshot. The store moves on while a read runs: a strict view refuses, with
 * `StaleSnapshot`, a record that is no longer the version the index showed, and the read starts over on a new
 * snapshot. A view that is not strict takes the record as it is now; it ends a read that writers keep overtaking.
 */
import { type MetadataValue, isSparseVector } from "@sheaf/protocol";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import type { QueryDistance } from "../kernels/value-memory.ts";
import type { StoredRecord, VectorDistance } from "../storage/stored-record.ts";

/** The store, for what the index does not keep: documents, URIs, vectors as they were given. */
export interface ViewedStore {
  /** `null` if it is gone. The vector may lie in `into` if that is as long. */
  read(offset: number, into?: Float32Array): StoredRecord | null;
  /** How far the record's vector is from a query; `null` as `read`. */
  readDistance(offset: number, query: QueryDistance): VectorDistance | null;
}

export class StaleSnapshot extends Error {
  override readonly name = "StaleSnapshot";
  /** Of the record that is another one now, or gone; `null`: it was not a record that gave it away. */
  readonly id: string | null;

  constructor(message: string, id: string | null) {
    super(message);
    this.id = id;
  }
}

/** Records kept until they are read; documents may be long. */
const MAX_AHEAD = 1_000;

/** A record without its vector. */
export type RecordContent = Omit<StoredRecord, "embedding">;

export class RecordView {
  readonly snapshot: IndexSnapshot;
  readonly strict: boolean;
  readonly #reader: ViewedStore;
  /** For vectors of records that are read ahead: memory for each would have to be collected. */
  #scratch: Float32Array | undefined;
  /** By position, what came with a vector; and how many more may. */
  readonly #ahead = new Map<number, RecordContent>();
  #readsAhead = 0;

  constructor(snapshot: IndexSnapshot, reader: ViewedStore, options: { readonly strict: boolean }) {
    this.snapshot = snapshot;
    this.#reader = reader;
    this.strict = options.strict;
  }

  /** A value of the record's metadata. The index has all but sparse vectors, which are read. */
  metadataValue(position: number, key: string): MetadataValue | undefined {
    const value = this.snapshot.metadataValue(position, key);
    if (value === undefined || !isSparseVector(value)) return value;
    return this.read(position)?.metadata?.get(key);
  }

  /** `null`: gone, seen by a view that is not strict. */
  read(position: number): RecordContent | null {
    return this.#ahead.get(position) ?? this.#read(position, this.#scratch);
  }

  /** `read` with the vector. */
  readWhole(position: number): StoredRecord | null {
    return this.#read(position, undefined);
  }

  /** The next distances, about so many, are of records that will most likely be read: that then costs nothing more. */
  readAhead(count: number): void {
    this.#ahead.clear();
    this.#readsAhead = Math.min(count, MAX_AHEAD);
  }

  /** How far the record's vector is from a query, as f32; `null` as `read`. */
  distance(position: number, query: QueryDistance): number | null {
    const held = this.snapshot.vector(position);
    if (held !== null) return query.toPrepared(held);
    if (this.#readsAhead > 0) return this.#distanceAhead(position, query);
    const stored = this.#reader.readDistance(this.snapshot.offset(position), query);
    this.#check(position, stored);
    return stored === null ? null : stored.distance;
  }

  /** Gives up on the snapshot: what a stage found is not all of it. */
  overtaken(): never {
    throw new StaleSnapshot("rows changed after the snapshot", null);
  }

  #distanceAhead(position: number, query: QueryDistance): number | null {
    this.#readsAhead--;
    this.#scratch ??= new Float32Array(query.prepared.length);
    const record = this.#read(position, this.#scratch);
    if (record === null) return null;
    this.#ahead.set(position, record);
    return query.to(record.embedding);
  }

  #read(position: number, into: Float32Array | undefined): StoredRecord | null {
    const record = this.#reader.read(this.snapshot.offset(position), into);
    this.#check(position, record);
    return record;
  }

  #check(position: number, version: { readonly sequence: number } | null): void {
    if (this.strict && version?.sequence !== this.snapshot.sequence(position)) {
      throw new StaleSnapshot("a record changed after the snapshot", this.snapshot.id(position));
    }
  }
}

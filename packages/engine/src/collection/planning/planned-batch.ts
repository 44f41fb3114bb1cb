/** What a batch is going to change: the store's state as the operations planned so far leave it. */
import {
  LIMITS,
  SheafError,
  type Metadata,
  type MetadataPatch,
  type MetadataValue,
  isIntegerArray,
  isSparseVector,
  parentOfId,
  type IntegerArray,
} from "@sheaf/protocol";
import type { RemovedRecord, StoreChange, StoreHead, StoreView } from "../../storage/record-store.ts";
import { SplitMap } from "../../storage/split-map.ts";
import type { Steps } from "../../storage/steps.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import { recordBytes } from "../../storage/values/record-bytes.ts";

const COLLECTED_PER_STEP = 1024;

/** A record as it is to be stored. */
export type PlannedRecord = Omit<StoredRecord, "offset" | "sequence">;

export class PlannedBatch {
  /** Of the newest operation that was planned. */
  sequence: number;
  readonly view: StoreView;
  #nextOffset: number;
  #dimension: number | null;
  /** What the batch makes of the ids it touches, in the order of new ones; `null`: nothing, the record is gone. */
  readonly #planned: (StoredRecord | null)[] = [];
  /** By id: where it is in `#planned`. */
  readonly #places = new SplitMap<number>();
  readonly #removes: RemovedRecord[] = [];
  /** By the document that they would be chunks of. */
  readonly #chunkIds = new SplitMap<Set<string>>();
  #changedBytes = 0;

  constructor(view: StoreView) {
    this.view = view;
    const { head } = view;
    this.sequence = head.sequence;
    this.#nextOffset = head.nextOffset;
    this.#dimension = head.dimension;
  }

  get dimension(): number | null {
    return this.#dimension;
  }

  /** Ids that chunks of the document would have, among those that the batch has put. */
  chunkIdsOf(parent: string): Iterable<string> {
    return this.#chunkIds.get(parent) ?? [];
  }

  exists(id: string): boolean {
    const planned = this.#plannedOf(id);
    return planned === undefined ? this.view.offsetOf(id) !== null : planned !== null;
  }

  find(id: string): Steps<StoredRecord | null> {
    const planned = this.#plannedOf(id);
    return planned === undefined ? this.view.findInSteps(id) : planned;
  }

  /**
   * As the newest operation leaves it; its embedding fixes the dimension if nothing has. `current`: what `find` gave. Throws 413
   * where the batch would take too much, with `path`.
   */
  put(record: PlannedRecord, current: StoredRecord | null, path: string): void {
    const offset = current === null ? this.#nextOffset++ : current.offset;
    const stored = { ...record, offset, sequence: this.sequence };
    const place = this.#places.get(record.id);
    // An id that was removed and comes again stands last: new records keep the order of their offsets.
    if (current === null || place === undefined) this.#append(record.id, stored);
    else this.#planned[place] = stored;
    this.#noteChunk(record.id);
    this.#dimension ??= record.embedding.length;
    this.#count(stored, path);
  }

  /** An operation of its own; none where there is no such record. */
  remove(id: string): void {
    const planned = this.#plannedOf(id);
    if (planned === null) return;
    const offset = this.view.offsetOf(id);
    if (offset === null && planned === undefined) return;
    this.sequence += 1;
    // What the batch itself has made is in no store yet. It has another offset than the one that was removed before.
    if (offset !== null && (planned === undefined || planned.offset === offset))
      this.#removes.push({ id, offset, sequence: this.sequence });
    if (planned === undefined) this.#append(id, null);
    else this.#planned[this.#places.get(id)!] = null;
  }

  *change(): Generator<void, StoreChange> {
    const puts: StoredRecord[] = [];
    const removes: RemovedRecord[] = [];
    let step = 0;
    for (const record of this.#planned) {
      if (record !== null) puts.push(record);
      if (++step % COLLECTED_PER_STEP === 0) yield;
    }
    for (const removed of this.#removes) if (removes.push(removed) % COLLECTED_PER_STEP === 0) yield;
    const head: StoreHead = {
      sequence: this.sequence,
      nextOffset: this.#nextOffset,
      dimension: this.#dimension,
    };
    return { head, puts, removes };
  }

  /** `undefined`: the batch has not touched it. */
  #plannedOf(id: string): StoredRecord | null | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.#planned[place];
  }

  /** What stands where the id was before is gone. */
  #append(id: string, planned: StoredRecord | null): void {
    this.#places.set(id, this.#planned.length);
    this.#planned.push(planned);
  }

  #noteChunk(id: string): void {
    const parent = id.includes("#") ? parentOfId(id) : null;
    if (parent === null) return;
    const ids = this.#chunkIds.get(parent);
    if (ids === undefined) this.#chunkIds.set(parent, new Set([id]));
    else ids.add(id);
  }

  /** What is planned is in memory until it is committed. */
  #count(record: StoredRecord, path: string): void {
    this.#changedBytes += recordBytes(record);
    if (this.#changedBytes <= LIMITS.changedBytes) return;
    const most = LIMITS.changedBytes / 2 ** 20;
    throw new SheafError(
      "too_large",
      `${path}: the records changed up to here take over ${most} MiB; write fewer at once`,
    );
  }
}

/** Key by key; `null` removes. No keys at all reads back as no metadata. */
export function mergeMetadata(current: Metadata | null, patch: MetadataPatch | null): Metadata | null {
  if (patch === null) return current;
  const merged = new Map<string, MetadataValue>(current);
  for (const [key, value] of patch) {
    if (value === null) merged.delete(key);
    else merged.set(key, detached(value));
  }
  return merged.size === 0 ? null : merged;
}

/** A typed array of a request may be a view into the whole message it came in; the index keeps it for long. */
function detached(value: MetadataValue): MetadataValue {
  if (typeof value !== "object") return value;
  if (isSparseVector(value)) {
    return { ...value, indices: owned(value.indices), values: owned(value.values) };
  }
  return isIntegerArray(value) || value instanceof Float64Array ? owned(value) : value;
}

function owned<T extends Uint32Array | Float32Array | Float64Array | IntegerArray>(array: T): T {
  return array.byteLength === array.buffer.byteLength ? array : (array.slice() as T);
}

/**
 * What writes and deletes change, as pure functions of the store's state: `add` ignores ids that exist, `update`
 * ignores ids that do not, and whatever comes with them; `upsert` merges or inserts. Within one batch a later entry sees the earlier ones. Every
 * submitted record counts as one operation, also an ignored one, so that a caller who waits for the write to be
 * checkpointed never waits in vain.
 */
import {
  type CommitOperation,
  LIMITS,
  type IntegerArray,
  type JsonObject,
  type Metadata,
  type MetadataPatch,
  type MetadataValue,
  type WriteKind,
  SheafError,
  type WriteRecord,
  type WriteRequest,
  describeMissingFunction,
  indexPlan,
  invalid,
  isIntegerArray,
  isSparseVector,
} from "@sheaf/protocol";
import { type Steps, isInSteps } from "../storage/steps.ts";
import type { RemovedRecord, StoreChange, StoreHead, StoreView } from "../storage/record-store.ts";
import { recordBytes } from "../storage/values/record-bytes.ts";
import type { StoredRecord } from "../storage/stored-record.ts";

const COLLECTED_PER_STEP = 1024;

/**
 * Throws 400 for a wrong dimension and for a new record without embedding; then nothing changes. `schema`: the
 * collection's, which a refusal describes.
 */
export function planWrite(
  view: StoreView,
  request: WriteRequest,
  schema: JsonObject = {},
): Generator<void, StoreChange> {
  const plan = new WritePlan(view, schema);
  return plan.changeAfter(plan.write(request, ""));
}

/** Removes the records with these ids as far as they exist. */
export function planRemove(view: StoreView, ids: readonly string[]): Generator<void, StoreChange> {
  const plan = new WritePlan(view, {});
  return plan.changeAfter(plan.remove(ids));
}

/** Several writes and deletes as one batch, in their order; throws as `planWrite` does. */
export function planOperations(
  view: StoreView,
  operations: readonly CommitOperation[],
  schema: JsonObject = {},
): Generator<void, StoreChange> {
  const plan = new WritePlan(view, schema);
  return plan.changeAfter(allOf(plan, operations));
}

function* allOf(plan: WritePlan, operations: readonly CommitOperation[]): Generator<void, void> {
  for (const [position, operation] of operations.entries()) {
    if (operation.kind === "delete") yield* plan.remove(operation.ids);
    else yield* plan.write(operation, `operations[${position}].payload.`);
  }
}

class WritePlan {
  readonly #view: StoreView;
  readonly #schema: JsonObject;
  #head: StoreHead;
  /** What the batch makes of the ids it touches; `null`: nothing, the record is gone. */
  readonly #planned = new Map<string, StoredRecord | null>();
  /** By id. */
  readonly #removes = new Map<string, RemovedRecord>();
  #changedBytes = 0;

  constructor(view: StoreView, schema: JsonObject) {
    this.#view = view;
    this.#schema = schema;
    this.#head = view.head;
  }

  *changeAfter(steps: Generator<void, void>): Generator<void, StoreChange> {
    yield* steps;
    const puts: StoredRecord[] = [];
    const removes: RemovedRecord[] = [];
    let step = 0;
    for (const record of this.#planned.values()) {
      if (record !== null) puts.push(record);
      if (++step % COLLECTED_PER_STEP === 0) yield;
    }
    for (const removed of this.#removes.values()) if (removes.push(removed) % COLLECTED_PER_STEP === 0) yield;
    return { head: this.#head, puts, removes };
  }

  /** A record in each step. `path` stands before the members of the request in messages. */
  *write(request: WriteRequest, path: string): Generator<void, void> {
    const { kind, records } = request;
    let { sequence, nextOffset, dimension } = this.#head;
    if (kind !== "update") {
      for (const [position, record] of records.entries()) {
        dimension = checkDimension(dimension, record, path, position);
      }
    }
    let stored = false;
    for (const [position, record] of records.entries()) {
      sequence += 1;
      yield;
      const found = this.#currentState(kind, record.id);
      const current = isInSteps(found) ? yield* found : found;
      if (current === "skip") continue;
      if (kind === "update") dimension = checkDimension(dimension, record, path, position);
      const offset = current === null ? nextOffset++ : current.offset;
      // An id that was removed and comes again stands last: new records keep the order of their offsets.
      if (current === null) this.#planned.delete(record.id);
      const embedding = record.embedding ?? current?.embedding;
      if (embedding === undefined) throw needsEmbedding(record, `${path}ids[${position}]`, this.#schema);
      const changed: StoredRecord = {
        offset,
        sequence,
        id: record.id,
        embedding,
        document: record.document ?? current?.document ?? null,
        uri: record.uri ?? current?.uri ?? null,
        metadata: mergeMetadata(current?.metadata ?? null, record.metadata),
      };
      this.#planned.set(record.id, changed);
      this.#count(changed, `${path}ids[${position}]`);
      stored = true;
    }
    this.#head = { sequence, nextOffset, dimension: stored ? dimension : this.#head.dimension };
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

  *remove(ids: Iterable<string>): Generator<void, void> {
    let { sequence } = this.#head;
    for (const id of ids) {
      yield;
      if (this.#planned.get(id) === null) continue;
      const offset = this.#view.offsetOf(id);
      if (offset === null && !this.#planned.has(id)) continue;
      sequence += 1;
      // What the batch itself has made is in no store yet; of an id that it removed before and made again neither.
      if (offset !== null && !this.#removes.has(id)) this.#removes.set(id, { id, offset, sequence });
      this.#planned.set(id, null);
    }
    this.#head = { ...this.#head, sequence };
  }

  #currentState(kind: WriteKind, id: string): Steps<StoredRecord | null | "skip"> {
    const planned = this.#planned.get(id);
    if (kind === "add") {
      const exists = planned === undefined ? this.#view.offsetOf(id) !== null : planned !== null;
      return exists ? "skip" : null;
    }
    const current = planned === undefined ? this.#view.findInSteps(id) : planned;
    if (kind !== "update") return current;
    return isInSteps(current) ? this.#orSkip(current) : (current ?? "skip");
  }

  *#orSkip(steps: Generator<void, StoredRecord | null>): Generator<void, StoredRecord | "skip"> {
    return (yield* steps) ?? "skip";
  }
}

/** Of a record that is not there yet. */
function needsEmbedding({ id, document }: WriteRecord, path: string, schema: JsonObject): SheafError {
  const why =
    document === null
      ? "send one, or a document for a collection whose embedding function this server has"
      : `${describeMissingFunction(indexPlan(schema).embeddingFunction, "dense")}; send an embedding`;
  return invalid(path, `record ${JSON.stringify(id)} is new and needs an embedding: ${why}`);
}

/** The dimension of the collection, which its first embedding decides. Throws 400 for an embedding of another one. */
function checkDimension(
  fixed: number | null,
  { embedding }: WriteRecord,
  path: string,
  position: number,
): number | null {
  if (embedding === null || embedding.length === fixed) return fixed;
  if (fixed === null) return embedding.length;
  throw invalid(
    `${path}embeddings[${position}]`,
    `Collection expecting embedding with dimension of ${fixed}, got ${embedding.length}`,
  );
}

/** Key by key; `null` removes. No keys at all reads back as no metadata. */
function mergeMetadata(current: Metadata | null, patch: MetadataPatch | null): Metadata | null {
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

export function countRecords(operations: readonly CommitOperation[]): number {
  return operations.reduce(
    (sum, operation) => sum + (operation.kind === "delete" ? operation.ids : operation.records).length,
    0,
  );
}

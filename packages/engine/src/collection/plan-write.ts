/**
 * What writes and deletes change, as pure functions of the store's state: `add` ignores ids that exist, `update`
 * ignores ids that do not, and whatever comes with them; `upsert` merges or inserts. Within one batch a later entry sees the earlier ones. Every
 * submitted record counts as one operation, also an ignored one, so that a caller who waits for the write to be
 * checkpointed never waits in vain.
 */
import {
  type CommitOperation,
  type JsonObject,
  type WriteKind,
  type SheafError,
  type WriteRecord,
  type WriteRequest,
  chunkingOf,
  describeMissingFunction,
  indexPlan,
  invalid,
} from "@sheaf/protocol";
import { LOOKED_AT_PER_STEP, type Steps, isInSteps } from "../storage/steps.ts";
import type { StoreChange, StoreView } from "../storage/record-store.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { ChunkedDocuments } from "./planning/chunked-documents.ts";
import { PlannedBatch, mergeMetadata } from "./planning/planned-batch.ts";

/**
 * Throws 400 for a wrong dimension and for a new record without embedding, 409 where ids of chunks and of other records
 * are the same; then nothing changes. `schema`: the collection's.
 */
export function planWrite(
  view: StoreView,
  request: WriteRequest,
  schema: JsonObject = {},
): Generator<void, StoreChange> {
  const plan = new WritePlan(view, schema);
  return plan.changeAfter(plan.write(request, ""));
}

/** Whether records that bring their vectors need nothing else from a gateway: no sparse vectors, no cutting. */
export function isStoredAsGiven(schema: JsonObject): boolean {
  const { sparse, chunking } = indexPlan(schema);
  return sparse.length === 0 && chunking === undefined;
}

/** Removes the records with these ids as far as they exist, and with a schema that has `chunking` their chunks. */
export function planRemove(
  view: StoreView,
  ids: readonly string[],
  schema: JsonObject = {},
): Generator<void, StoreChange> {
  const plan = new WritePlan(view, schema);
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
  readonly #batch: PlannedBatch;
  readonly #schema: JsonObject;
  /** `null`: the collection has no chunks. */
  #documents: ChunkedDocuments | null;

  constructor(view: StoreView, schema: JsonObject) {
    this.#batch = new PlannedBatch(view);
    this.#schema = schema;
    this.#documents = chunkingOf(schema) === null ? null : new ChunkedDocuments(this.#batch, schema);
  }

  *changeAfter(steps: Generator<void, void>): Generator<void, StoreChange> {
    yield* steps;
    return yield* this.#batch.change();
  }

  /** A record in each step. `path` stands before the members of the request in messages. */
  *write(request: WriteRequest, path: string): Generator<void, void> {
    const { kind, records } = request;
    let { dimension } = this.#batch;
    if (kind !== "update") {
      for (const [position, record] of records.entries()) {
        dimension = checkDimension(dimension, record, path, position);
        if (position % LOOKED_AT_PER_STEP === LOOKED_AT_PER_STEP - 1) yield;
      }
    }
    for (const [position, record] of records.entries()) {
      this.#batch.sequence += 1;
      yield;
      const place = { kind, path: `${path}ids[${position}]` };
      if (kind === "update" && record.chunks !== undefined) {
        checkDimension(this.#batch.dimension, record, path, position);
      }
      // The first chunks may come before the schema that tells of them.
      if (record.chunks !== undefined) this.#documents ??= new ChunkedDocuments(this.#batch, this.#schema);
      if (this.#documents !== null && (yield* this.#documents.write(record, place))) continue;
      const found = this.#currentState(kind, record.id);
      const current = isInSteps(found) ? yield* found : found;
      if (current === "skip") continue;
      if (kind === "update") checkDimension(this.#batch.dimension, record, path, position);
      const embedding = record.embedding ?? current?.embedding;
      if (embedding === undefined) throw needsEmbedding(record, place.path, this.#schema);
      const changed = {
        id: record.id,
        embedding,
        document: record.document ?? current?.document ?? null,
        uri: record.uri ?? current?.uri ?? null,
        metadata: mergeMetadata(current?.metadata ?? null, record.metadata),
      };
      this.#batch.put(changed, current, place.path);
    }
  }

  *remove(ids: Iterable<string>): Generator<void, void> {
    if (this.#documents !== null) yield* this.#documents.remove(ids);
    else {
      for (const id of ids) {
        yield;
        this.#batch.remove(id);
      }
    }
  }

  #currentState(kind: WriteKind, id: string): Steps<StoredRecord | null | "skip"> {
    if (kind === "add") return this.#batch.exists(id) ? "skip" : null;
    const current = this.#batch.find(id);
    if (kind !== "update") return current;
    return isInSteps(current) ? this.#orSkip(current) : (current ?? "skip");
  }

  *#orSkip(steps: Generator<void, StoredRecord | null>): Generator<void, StoredRecord | "skip"> {
    return (yield* steps) ?? "skip";
  }
}

const EMBED_IT =
  "send an embedding, or make the collection anew with a schema for which the server embeds (hybridSchema(), sheaf collections create)";

/** Of a record that is not there yet. */
function needsEmbedding({ id, document }: WriteRecord, path: string, schema: JsonObject): SheafError {
  const why =
    document === null
      ? "send one, or a document for a collection whose embedding function this server has"
      : `${describeMissingFunction(indexPlan(schema).embeddingFunction, "dense")}; ${EMBED_IT}`;
  return invalid(path, `record ${JSON.stringify(id)} is new and needs an embedding: ${why}`);
}

/** The dimension of the collection, which its first embedding decides. Throws 400 for an embedding of another one. */
function checkDimension(
  fixed: number | null,
  { embedding: own, chunks }: WriteRecord,
  path: string,
  position: number,
): number | null {
  // Those of chunks are of one model.
  const embedding = own ?? chunks?.[0]?.embedding ?? null;
  if (embedding === null || embedding.length === fixed) return fixed;
  if (fixed === null) return embedding.length;
  throw invalid(
    `${path}embeddings[${position}]`,
    `Collection expecting embedding with dimension of ${fixed}, got ${embedding.length}`,
  );
}

export function countRecords(operations: readonly CommitOperation[]): number {
  return operations.reduce(
    (sum, operation) => sum + (operation.kind === "delete" ? operation.ids : operation.records).length,
    0,
  );
}

/**
 * Updates of records that do not exist change nothing, so nothing of them is embedded: what they bring is taken away
 * before. The records themselves stay in the write, which counts them; one that is made in the meantime is left as it is.
 */
import {
  type CollectionRef,
  type CommitOperation,
  type WriteRecord,
  type WriteRequest,
  parentOfId,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import type { GetService } from "./get-service.ts";

const IDS_ONLY = {
  documents: false,
  embeddings: false,
  metadatas: false,
  uris: false,
  distances: false,
  keys: [],
} as const;

/** Which records there are when an operation is applied. */
export class PresentRecords {
  readonly #get: GetService;
  readonly #ref: CollectionRef;
  readonly #budget: RequestBudget;
  /** By operations of the same commit that come before. */
  readonly #made = new Set<string>();

  constructor(get: GetService, ref: CollectionRef, budget: RequestBudget) {
    this.#get = get;
    this.#ref = ref;
    this.#budget = budget;
  }

  /** Tells of an operation that is applied before the next one. */
  note(operation: CommitOperation): void {
    if (operation.kind !== "add" && operation.kind !== "upsert") return;
    for (const { id } of operation.records) this.#made.add(id);
  }

  /** The same update, empty where its record does not exist. */
  async withoutAbsent(update: WriteRequest): Promise<WriteRequest> {
    const unknown = new Set(update.records.map(({ id }) => id).filter((id) => !this.#made.has(id)));
    const request = { ids: [...unknown], where: null, limit: null, offset: 0, include: IDS_ONLY };
    const found = await this.#get.get(this.#ref, request, this.#budget);
    for (const { id } of found) {
      unknown.delete(id);
      const parent = parentOfId(id);
      // The chunks of a document are what there is of it.
      if (parent !== null) unknown.delete(parent);
    }
    if (unknown.size === 0) return update;
    const records = update.records.map((record) => (unknown.has(record.id) ? emptied(record) : record));
    return { ...update, records };
  }
}

function emptied({ id }: WriteRecord): WriteRecord {
  return { id, embedding: null, document: null, uri: null, metadata: null };
}

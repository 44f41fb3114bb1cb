/** Stores one record as its form says, if it stands as the form believes. */
import type { JsonObject } from "../parts/json-text.ts";
import { type Asked, ask } from "../session/ask-collection.ts";

export interface SavedRecord {
  readonly id: string;
  /** The collection has no record of this id yet. */
  readonly isNew: boolean;
  /** `undefined`: stays as it is. */
  readonly document: string | undefined;
  /** Fields that have changed; `null`: is taken away. */
  readonly metadata: JsonObject;
}

interface ConditionalRead {
  readonly ids: readonly string[];
  readonly read_token: number;
}

/**
 * An add of an id that there is, and an update of one that there is not, would both change nothing and say nothing of it. The
 * transaction also holds where somebody is faster.
 *
 * @throws Error that says so, and what the client throws.
 */
export async function saveRecord(
  asked: Asked,
  { id, isNew, document, metadata }: SavedRecord,
): Promise<void> {
  const read = await ask<ConditionalRead>(asked, "/conditional/get", { ids: [id], include: [], limit: 1 });
  const exists = read.ids.length > 0;
  if (isNew && exists) throw new Error(`There is a record ${id} already. Open it, or choose another id.`);
  if (!isNew && !exists)
    throw new Error(`The record ${id} was deleted meanwhile. What you typed can be added as a new record.`);
  const payload = {
    ids: [id],
    ...(document !== undefined && { documents: [document] }),
    ...(Object.keys(metadata).length > 0 && { metadatas: [metadata] }),
  };
  await ask(asked, "/conditional/commit", {
    read_token: read.read_token,
    read_ids: [id],
    operations: [{ operation: isNew ? "add" : "update", payload }],
  });
}

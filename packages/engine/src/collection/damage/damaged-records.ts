/**
 * Records of an open collection that cannot be read. They are in no index, so a read that they might belong to is
 * refused: an answer without them would be wrong and nobody would know. What names other records goes on, and once
 * the damaged ones are deleted the collection is as any other.
 */
import { SheafError } from "@sheaf/protocol";
import type { CorruptDataError } from "../../storage/corrupt-data-error.ts";
import type { StoreChange } from "../../storage/record-store.ts";

export class DamagedRecords {
  readonly #onNone: () => void;
  /** By id. */
  readonly #records = new Map<string, CorruptDataError>();

  /** @param onNone Told once all records were looked at, or the last damaged one is gone, and none is damaged. */
  constructor(onNone: () => void) {
    this.#onNone = onNone;
  }

  get size(): number {
    return this.#records.size;
  }

  add(id: string, damage: CorruptDataError): void {
    this.#records.set(id, damage);
  }

  /** What a batch has removed or written anew is sound again. */
  apply({ removes, puts }: StoreChange): void {
    if (this.#records.size === 0) return;
    for (const { id } of [...removes, ...puts]) this.#records.delete(id);
    this.complete();
  }

  /** All records were looked at. */
  complete(): void {
    if (this.#records.size === 0) this.#onNone();
  }

  /** Throws `collection_unavailable` where a damaged record may belong to what is read. `null`: any record may. */
  requireNone(ids: readonly string[] | null): void {
    const ofThese = ids ?? this.#records.keys();
    for (const id of ofThese) {
      const damage = this.#records.get(id);
      if (damage !== undefined) throw new UnreadableRecord(id, damage);
    }
  }
}

/** Of a record that its index has and its store has not. */
export function lostRecord(id: string): SheafError {
  return new UnreadableRecord(id);
}

/** For callers: the place of the damage is in the log. */
export class UnreadableRecord extends SheafError {
  constructor(id: string, cause?: unknown) {
    super(
      "collection_unavailable",
      `record ${JSON.stringify(id)}: its stored data is damaged; delete the record, or have the operator of the server ` +
        "run `sheaf doctor`",
      { cause },
    );
    this.name = "UnreadableRecord";
  }
}

/** The records are whole, and their index is not. */
export function beingRebuilt(cause?: unknown): SheafError {
  return new SheafError("unavailable", "the index is being rebuilt", { retryAfterSeconds: 1, cause });
}

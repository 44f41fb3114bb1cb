/** Data that was read back is not what was written. Names the place, so that an operator can find and repair it. */
import { SheafError } from "@sheaf/protocol";

/** Where a value came from. */
export interface DataOrigin {
  /** The store, as a path inside the data folder. */
  readonly store: string;
  readonly key: Uint8Array;
}

export class CorruptDataError extends SheafError {
  readonly origin: DataOrigin;
  /** Byte inside the value at which reading failed. */
  readonly position: number;

  constructor(origin: DataOrigin, position: number, reason: string) {
    const key = Buffer.from(origin.key).toString("hex");
    super(
      "collection_unavailable",
      `stored data is damaged: ${origin.store}, key ${key}, byte ${position}: ${reason}; run \`sheaf doctor\``,
    );
    this.name = "CorruptDataError";
    this.origin = origin;
    this.position = position;
  }
}

/** The store itself, no single value of it: `collections/ab/…` or `catalog`. */
class DamagedStore extends SheafError {
  constructor(store: string, reason: string, cause: unknown) {
    super("collection_unavailable", `stored data is damaged: ${store}: ${reason}; run \`sheaf doctor\``, {
      cause,
    });
    this.name = "DamagedStore";
  }
}

export function damagedStore(store: string, reason: string, cause?: unknown): SheafError {
  return new DamagedStore(store, reason, cause);
}

/** Whether the message names a place in the data folder, which is nothing for callers. */
export function namesPlace(error: unknown): boolean {
  return error instanceof CorruptDataError || error instanceof DamagedStore;
}

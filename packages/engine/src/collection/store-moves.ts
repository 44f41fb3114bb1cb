/** When the store of a collection that shares an environment gets one of its own: between two writes, once it is not small. */
import type { WriteRequest } from "@sheaf/protocol";
import { recordBytes } from "../storage/values/record-bytes.ts";
import type { StoreMover } from "./store-mover.ts";
import type { WriteGate } from "./write-gate.ts";

export class StoreMoves {
  readonly #mover: StoreMover | undefined;
  readonly #gate: WriteGate;
  readonly #onProblem: (error: unknown) => void;
  /** Never rejects; `null`: the store is not on the move. */
  #moving: Promise<void> | null = null;

  constructor(mover: StoreMover | undefined, gate: WriteGate, onProblem: (error: unknown) => void) {
    this.#mover = mover;
    this.#gate = gate;
    this.#onProblem = onProblem;
  }

  get isMoving(): boolean {
    return this.#moving !== null;
  }

  async idle(): Promise<void> {
    await this.#moving;
  }

  /** Many records at once, or large ones, do not go through an environment that others wait for. */
  makeWayFor(records: WriteRequest["records"]): void {
    if (this.#mover?.isShared !== true) return;
    let [count, bytes] = [0, 0];
    for (const record of records) {
      const own = recordBytes(record);
      count += record.chunks?.length ?? 1;
      // Each chunk has the metadata of the record, too.
      bytes += record.chunks?.reduce((sum, chunk) => sum + recordBytes(chunk) + own, 0) ?? own;
    }
    // The write asks for its turn at once, and gets it after the move.
    this.moveIfDue(count, bytes);
  }

  /** With so many more. */
  moveIfDue(records = 0, bytes = 0): void {
    const mover = this.#mover;
    if (mover === undefined || this.#moving !== null || !mover.isDue(records, bytes)) return;
    this.#moving = this.#gate
      .exclusive(() => mover.move())
      .catch(this.#onProblem)
      .finally(() => (this.#moving = null));
  }
}

/** When the store of a collection that shares an environment gets one of its own: between two writes, once it is not small. */
import type { WriteRequest } from "@sheaf/protocol";
import { recordBytes } from "../storage/values/record-bytes.ts";
import type { StoreMover } from "./store-mover.ts";
import type { WriteGate } from "./write-gate.ts";

export interface BatchSize {
  readonly records: number;
  readonly bytes: number;
}

const NOTHING: BatchSize = Object.freeze({ records: 0, bytes: 0 });

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

  /** With so many more it holds more than a share may. */
  isDue({ records, bytes }: BatchSize = NOTHING): boolean {
    return this.#mover?.isDue(records, bytes) === true;
  }

  /** Of a write. Many records do not stay small, whatever they take: to look at each would be a long turn. */
  sizeOf(written: WriteRequest["records"]): BatchSize {
    const records = written.reduce((sum, { chunks }) => sum + (chunks?.length ?? 1), 0);
    const many = { records, bytes: 0 };
    return this.isDue(many) ? many : { records, bytes: bytesOf(written) };
  }

  /** For a write of so much. @param indexing What has to be there before; `undefined`: nothing. */
  makeWay(more: BatchSize, indexing: () => Promise<void> | undefined): Promise<void> | undefined {
    const indexed = indexing();
    if (indexed !== undefined) return indexed.then(() => this.moveIfDue(more));
    this.moveIfDue(more);
    return undefined;
  }

  /**
   * Many records at once, or large ones, do not go through an environment that others wait for: a write that asks for its
   * turn at once gets it after the move.
   */
  moveIfDue(more: BatchSize = NOTHING): void {
    const mover = this.#mover;
    if (mover === undefined || this.#moving !== null || !this.isDue(more)) return;
    this.#moving = this.#gate
      .exclusive(() => mover.move())
      .catch(this.#onProblem)
      .finally(() => (this.#moving = null));
  }
}

function bytesOf(written: WriteRequest["records"]): number {
  let bytes = 0;
  for (const record of written) {
    const own = recordBytes(record);
    // Each chunk has the metadata of the record, too.
    bytes += record.chunks?.reduce((sum, chunk) => sum + recordBytes(chunk) + own, 0) ?? own;
  }
  return bytes;
}

/**
 * What the body of a request holds of the budgets, from its first bytes until the request is over and nothing works on
 * it any more: the engine finishes a write whose caller has left.
 */
import type { ByteLease } from "@sheaf/protocol";

export class RequestHold {
  lease: ByteLease | null = null;
  /** Among the large bodies of its tenant. */
  turn: { release(): void } | null = null;
  /** Calls that go on after their request. */
  #kept = 0;
  #isOver = false;

  /** Charges what the body takes once it is parsed, where that is more than it was. Throws as `ByteLease.grow`. */
  cover(bytes: number): void {
    if (this.lease !== null && bytes > this.lease.bytes) this.lease.grow(bytes - this.lease.bytes);
  }

  /** Keeps it beyond the request until what this gives is called. */
  keep(): () => void {
    this.#kept++;
    return () => {
      this.#kept--;
      this.#giveBack();
    };
  }

  /** The request is over. */
  release(): void {
    this.#isOver = true;
    this.#giveBack();
  }

  #giveBack(): void {
    if (!this.#isOver || this.#kept > 0) return;
    this.lease?.release();
    this.turn?.release();
  }
}

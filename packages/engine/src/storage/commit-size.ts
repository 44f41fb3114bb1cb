/**
 * Large writes go one at a time over all collections: what one reads, makes and commits is in memory several times over.
 */
import { nextSlice } from "@sheaf/process";
import type { TurnLock } from "./turn-lock.ts";

/** What a commit may read and write beside others; a value that is copied in steps counts at each. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** What the commit under way of one environment has read and written, and its turn. */
export class CommitSize {
  readonly #turns: TurnLock | undefined;
  readonly #owner: string;
  #bytes = 0;
  #leave: (() => void) | null = null;

  /** Without `turns` it waits for none. */
  constructor(turns?: TurnLock, owner = "") {
    this.#turns = turns;
    this.#owner = owner;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Until the next slice, and the turn of large writes once it is one. */
  async pause(): Promise<void> {
    if (this.#turns !== undefined && this.#leave === null && this.#bytes >= LARGE_BYTES) {
      this.#leave = await this.#turns.enter(this.#owner);
    }
    await nextSlice(this.#owner);
  }

  /** The commit is over. */
  reset(): void {
    this.#bytes = 0;
    this.#leave?.();
    this.#leave = null;
  }
}

/**
 * The turn of large writes, one at a time over all collections: what one reads, makes and commits is in memory several
 * times over. Owners are served in turn.
 */
import { nextSlice } from "@sheaf/process";
import { TurnQueue } from "@sheaf/protocol";

/** What a commit may read and write beside others; a value that is copied in steps counts at each. */
const LARGE_BYTES = 8 * 1024 * 1024;

export class LargeWrites {
  readonly #waiting = new TurnQueue<() => void>();
  #isTaken = false;

  /** Resolves once it is the owner's turn; who has it calls what it resolves to when its commit is on disk. */
  async enter(owner: string): Promise<() => void> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(owner, resolve));
    this.#isTaken = true;
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#isTaken = false;
      else next();
    };
  }
}

/** What the commit under way of one environment has read and written, and its turn. */
export class CommitSize {
  readonly #turns: LargeWrites | undefined;
  readonly #owner: string;
  #bytes = 0;
  #leave: (() => void) | null = null;

  /** Without `turns` it waits for none. */
  constructor(turns?: LargeWrites, owner = "") {
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

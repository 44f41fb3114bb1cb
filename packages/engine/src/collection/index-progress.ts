/**
 * Checkpoints: when the catalog counts a write as indexed. Clients write, read `version` and wait for it to rise, so it must
 * not rise with the write itself but within a second after it: a tick checkpoints what was acknowledged before the
 * previous tick. While a collection is dirty (has writes since its last checkpoint) the catalog holds a mark, so
 * that the start after a crash makes the checkpoint.
 */

/** A write is checkpointed one to two ticks after it, at most 0.8 s. */
const TICK_MS = 400;
/** Ticks of all collections are due at multiples of it, so that their checkpoints share commits of the catalog. */
const GRID_MS = 50;

export interface IndexProgressHooks {
  /** The mark is durable before anything is written: it leads to what a killed process has not archived. */
  readonly marksFirst: boolean;
  /** Durable note that the collection is dirty. */
  readonly mark: () => Promise<void>;
  /** Durable; `complete` takes the mark away. */
  readonly checkpoint: (position: number, complete: boolean) => Promise<void>;
  readonly onProblem: (error: unknown) => void;
}

export class IndexProgress {
  readonly #hooks: IndexProgressHooks;
  #checkpointed: number;
  /** Newest sequence at the last tick. */
  #seen: number;
  #newest: number;
  #writing = 0;
  #mark: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #ticking: Promise<void> = Promise.resolve();
  #closing = false;
  /** The last checkpoint failed. */
  #isFailing = false;

  /** `position`: sequence number of the last checkpoint. */
  constructor(position: number, hooks: IndexProgressHooks) {
    this.#hooks = hooks;
    this.#checkpointed = this.#seen = this.#newest = position;
  }

  /** Not dirty: no timer and no write in progress. */
  get settled(): boolean {
    return this.#timer === null && this.#writing === 0;
  }

  /**
   * Runs one write; it resolves when the write and the mark are durable. `write` returns the newest sequence.
   * `isFirst`: the mark comes after it, for a write that makes something known sets it in the commit that does that.
   */
  async track(write: () => Promise<number>, isFirst = false): Promise<void> {
    this.#writing += 1;
    try {
      if (this.#hooks.marksFirst) await (this.#mark ??= this.#setMark());
      const writing = write();
      if (isFirst) await writing;
      const mark = (this.#mark ??= this.#setMark());
      const [written, marked] = await Promise.allSettled([writing, mark]);
      if (written.status === "rejected") throw written.reason;
      this.#newest = Math.max(this.#newest, written.value);
      if (marked.status === "rejected") throw marked.reason;
    } finally {
      this.#writing -= 1;
      this.#schedule();
    }
  }

  /** The mark is in a commit that was made for something else. */
  marked(): void {
    this.#mark ??= Promise.resolve();
  }

  /** Makes the last checkpoint at once. Nothing may be tracked afterwards. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#ticking;
    if (this.#mark !== null || this.#checkpointed < this.#newest) await this.#checkpoint(this.#newest, true);
  }

  async #setMark(): Promise<void> {
    try {
      await this.#hooks.mark();
    } catch (error) {
      this.#mark = null;
      throw error;
    }
  }

  #schedule(): void {
    // A tick that is under way at the close would set the timer again, and the next one would meet a closed store.
    if (this.#closing || this.#timer !== null) return;
    const delay = Math.ceil(TICK_MS - ((performance.now() + TICK_MS) % GRID_MS));
    this.#timer = setTimeout(() => {
      this.#ticking = this.#tick();
    }, delay).unref();
  }

  async #tick(): Promise<void> {
    const position = this.#seen;
    this.#seen = this.#newest;
    const complete = this.#writing === 0 && position === this.#newest;
    if (position > this.#checkpointed || complete) await this.#checkpoint(position, complete);
    this.#timer = null;
    if (this.#mark !== null || this.#checkpointed < this.#newest) this.#schedule();
  }

  /** A failure is tried again with the next tick, and reported once: a full disk would fill the log. */
  async #checkpoint(position: number, complete: boolean): Promise<void> {
    // A write from here on marks again, and the catalog keeps the order.
    if (complete) this.#mark = null;
    try {
      await this.#hooks.checkpoint(position, complete);
      this.#checkpointed = position;
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#hooks.onProblem(error);
      this.#isFailing = true;
    }
  }
}

/**
 * One store's share of an LMDB environment: the entries whose keys begin with the 16 bytes of its id. It looks like an
 * environment of its own, but for the counts of entries and bytes, which only its head has.
 */
import type { DataOrigin } from "../corrupt-data-error.ts";
import type { Entry } from "../entries.ts";
import type { Steps } from "../steps.ts";
import { copyShare } from "./copy-share.ts";
import { type EntrySpace, EntryTally } from "./entry-space.ts";
import type { KeyRange } from "./key-range.ts";
import type { LmdbEnvironment } from "./lmdb-environment.ts";

/** Of an id, as it stands before each key. */
export const SHARE_ID_BYTES = 16;

export class SharedSpace implements EntrySpace {
  readonly tally = new EntryTally();
  readonly whole = null;
  readonly #environment: LmdbEnvironment;
  readonly #id: Uint8Array;
  readonly #onClosed: () => void;
  /** The last batch asked for. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  /** `onClosed`: the environment stays open, and may be closed after that. */
  constructor(environment: LmdbEnvironment, id: Uint8Array, onClosed: () => void = () => {}) {
    this.#environment = environment;
    this.#id = id;
    this.#onClosed = onClosed;
  }

  origin(key: Uint8Array): DataOrigin {
    return this.#environment.origin(this.#full(key));
  }

  get(key: Uint8Array): Uint8Array | null {
    return this.#environment.get(this.#full(key));
  }

  peek(key: Uint8Array): Uint8Array | null {
    return this.#environment.peek(this.#full(key));
  }

  entries(range: KeyRange): readonly Entry[] {
    return range.limit === 0 ? [] : [...this.iterate(range)];
  }

  *iterate(range: KeyRange): Generator<Entry, undefined> {
    for (const { key, value } of this.#environment.iterate(this.#fullRange(range)))
      yield { key: key.subarray(SHARE_ID_BYTES), value };
  }

  count(range: Pick<KeyRange, "start" | "end">): number {
    return this.#environment.count(this.#fullRange(range));
  }

  transact<T>(action: () => Steps<T>): Promise<T> {
    const done = this.#environment.transact(() => {
      this.tally.reset();
      return action();
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  put(key: Uint8Array, value: Uint8Array, isOwned = false): void {
    const full = this.#full(key);
    this.tally.add(key.length, this.#environment.peek(full)?.length ?? null, value.length);
    this.#environment.put(full, value, isOwned);
  }

  remove(key: Uint8Array): void {
    const full = this.#full(key);
    this.tally.add(key.length, this.#environment.peek(full)?.length ?? null, null);
    this.#environment.remove(full);
  }

  claim(bytes: number): void {
    this.#environment.claim(bytes);
  }

  copyTo(folder: string): Promise<void> {
    return copyShare(this, folder, this.#environment.disk);
  }

  forgetDeadReaders(): void {
    this.#environment.forgetDeadReaders();
  }

  /** After the batches under way. */
  async close(): Promise<void> {
    await this.#last;
    this.#onClosed();
  }

  #full(key: Uint8Array): Uint8Array {
    const full = Buffer.allocUnsafe(SHARE_ID_BYTES + key.length);
    full.set(this.#id);
    full.set(key, SHARE_ID_BYTES);
    return full;
  }

  #fullRange<T extends Pick<KeyRange, "start" | "end">>(range: T): T {
    return { ...range, start: this.#full(range.start), end: this.#full(range.end) };
  }
}

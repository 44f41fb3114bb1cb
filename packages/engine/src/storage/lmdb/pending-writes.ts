/**
 * What the actions of one group have written and no commit holds yet. It lies in front of what is committed: an action
 * sees what the actions before it wrote, and one that throws leaves nothing.
 */
import { type Entry, type EntryWrite, keyName } from "../entries.ts";
import { SplitMap } from "../split-map.ts";

/** What of lmdb-js takes the writes of a transaction. */
export interface WriteTarget {
  /** `append`: the key is greater than all there are. */
  put(key: Uint8Array, value: Uint8Array, options?: { readonly append: true }): Promise<boolean>;
  remove(key: Uint8Array): Promise<boolean>;
}

/** Of one commit's values; longer ones have memory of their own. */
const ARENA_BYTES = 64 * 1024;
/** Fractions of a millisecond. */
const WRITES_PER_STEP = 256;

export class PendingWrites {
  readonly #writes: EntryWrite[] = [];
  /** The newest write of each key among the first `#indexed`, by the key's bytes as Latin-1; made when it is asked for. */
  readonly #byName = new SplitMap<EntryWrite>();
  #indexed = 0;
  /** None before the first write: most of what is opened is only read. */
  #arena = new Uint8Array(0);
  #arenaUsed = 0;

  get size(): number {
    return this.#writes.length;
  }

  *keys(): Generator<Uint8Array> {
    for (const { key } of this.#writes) yield key;
  }

  run<T>(action: () => T): T {
    const before = this.#writes.length;
    try {
      return action();
    } catch (error) {
      this.undoTo(before);
      throw error;
    }
  }

  /** Takes back all but the first `count`. */
  undoTo(count: number): void {
    this.#writes.length = count;
    if (this.#indexed > count) this.#forgetIndex();
  }

  /** `undefined`: what is committed counts. */
  find(key: Uint8Array): EntryWrite | undefined {
    return this.#writes.length === 0 ? undefined : this.#index().get(keyName(key));
  }

  /** A value that is not `isOwned` is copied. */
  put(key: Uint8Array, value: Uint8Array, isOwned = false): void {
    this.#writes.push({ key, value: isOwned ? value : this.#copy(value) });
  }

  remove(key: Uint8Array): void {
    this.#writes.push({ key, value: null });
  }

  /** Ascending, one for each key. */
  within(start: Uint8Array, end: Uint8Array): EntryWrite[] {
    const found: EntryWrite[] = [];
    for (const write of this.#index().values()) {
      if (Buffer.compare(write.key, start) >= 0 && Buffer.compare(write.key, end) < 0) found.push(write);
    }
    return found.sort((a, b) => Buffer.compare(a.key, b.key));
  }

  /** By how many keys a range grows; `exists` tells whether a key is committed. */
  growth(range: { start: Uint8Array; end: Uint8Array }, exists: (key: Uint8Array) => boolean): number {
    let growth = 0;
    for (const { key, value } of this.within(range.start, range.end)) {
      growth += Number(value !== null) - Number(exists(key));
    }
    return growth;
  }

  /**
   * Gives the target some writes in each step.
   * @param last The greatest key of `target`; what comes above it is appended. `null`: nothing is.
   */
  *writeTo(target: WriteTarget, last: Uint8Array | null): Generator<void, void> {
    let end = last;
    for (const [i, { key, value }] of this.#writes.entries()) {
      if (i % WRITES_PER_STEP === WRITES_PER_STEP - 1) yield;
      if (value === null) void target.remove(key);
      else if (end === null || Buffer.compare(key, end) <= 0) void target.put(key, value);
      else {
        end = key;
        // Its promise rejects beside that of the transaction.
        target.put(key, value, { append: true }).catch(() => undefined);
      }
    }
  }

  /** Nothing may still read the values. */
  clear(): void {
    this.#writes.length = 0;
    this.#forgetIndex();
    this.#arenaUsed = 0;
  }

  #index(): SplitMap<EntryWrite> {
    for (; this.#indexed < this.#writes.length; this.#indexed++) {
      const write = this.#writes[this.#indexed]!;
      this.#byName.set(keyName(write.key), write);
    }
    return this.#byName;
  }

  #forgetIndex(): void {
    this.#byName.clear();
    this.#indexed = 0;
  }

  #copy(value: Uint8Array): Uint8Array {
    const from = this.#arenaUsed;
    if (from + value.length > this.#arena.length) {
      if (value.length > ARENA_BYTES / 2) return Buffer.from(value);
      // The values so far keep theirs alive.
      this.#arena = new Uint8Array(ARENA_BYTES);
      this.#arenaUsed = 0;
      return this.#copy(value);
    }
    this.#arena.set(value, from);
    this.#arenaUsed += value.length;
    return this.#arena.subarray(from, this.#arenaUsed);
  }
}

/** `limit` entries after the first `offset`. */
export function* stretch(entries: Iterable<Entry>, offset: number, limit: number): Generator<Entry> {
  let passed = 0;
  if (limit > 0) {
    for (const entry of entries) {
      if (passed++ >= offset) yield entry;
      if (passed >= offset + limit) return;
    }
  }
}

/**
 * What the actions of one group have written and no commit holds yet. It lies in front of what is committed: an action
 * sees what the actions before it wrote, and one that throws leaves nothing.
 */

export interface PendingWrite {
  readonly key: Uint8Array;
  /** `null`: removed. */
  readonly value: Uint8Array | null;
}

interface CommittedEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Of one commit's values; longer ones have memory of their own. */
const ARENA_BYTES = 64 * 1024;

export class PendingWrites {
  /** By the key's bytes as Latin-1. */
  readonly #writes = new Map<string, PendingWrite>();
  /** What the action under way has replaced, in its order. */
  #replaced: (readonly [string, PendingWrite | undefined])[] = [];
  #arena = new Uint8Array(ARENA_BYTES);
  #arenaUsed = 0;

  get size(): number {
    return this.#writes.size;
  }

  /** In the order of their first writing. */
  all(): Iterable<PendingWrite> {
    return this.#writes.values();
  }

  run<T>(action: () => T): T {
    this.#replaced = [];
    try {
      return action();
    } catch (error) {
      for (const [name, before] of this.#replaced.reverse()) {
        if (before === undefined) this.#writes.delete(name);
        else this.#writes.set(name, before);
      }
      throw error;
    }
  }

  /** `undefined`: what is committed counts. */
  find(key: Uint8Array): PendingWrite | undefined {
    return this.#writes.size === 0 ? undefined : this.#writes.get(nameOf(key));
  }

  /** The value is copied. */
  put(key: Uint8Array, value: Uint8Array): void {
    this.#set({ key, value: this.#copy(value) });
  }

  remove(key: Uint8Array): void {
    this.#set({ key, value: null });
  }

  /** Ascending. */
  within(start: Uint8Array, end: Uint8Array): PendingWrite[] {
    const found: PendingWrite[] = [];
    for (const write of this.#writes.values()) {
      if (Buffer.compare(write.key, start) >= 0 && Buffer.compare(write.key, end) < 0) found.push(write);
    }
    return found.sort((a, b) => Buffer.compare(a.key, b.key));
  }

  /** Nothing may still read the values. */
  clear(): void {
    this.#writes.clear();
    this.#replaced = [];
    this.#arenaUsed = 0;
  }

  #set(write: PendingWrite): void {
    const name = nameOf(write.key);
    this.#replaced.push([name, this.#writes.get(name)]);
    this.#writes.set(name, write);
  }

  #copy(value: Uint8Array): Uint8Array {
    const from = this.#arenaUsed;
    if (from + value.length > ARENA_BYTES) {
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

/** What is committed with what is written over it; both ascend. */
export function* overlaid(
  committed: Iterable<CommittedEntry>,
  written: readonly PendingWrite[],
): Generator<CommittedEntry> {
  let next = 0;
  for (const entry of committed) {
    let order = 1;
    for (; next < written.length; next++) {
      const { key, value } = written[next]!;
      order = Buffer.compare(entry.key, key);
      if (order < 0) break;
      if (value !== null) yield { key, value };
      if (order === 0) {
        next++;
        break;
      }
    }
    if (order !== 0) yield entry;
  }
  for (const { key, value } of written.slice(next)) if (value !== null) yield { key, value };
}

function nameOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString("latin1");
}

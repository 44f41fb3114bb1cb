/** Entries of stores: values under keys, in the order of the keys' bytes. */

export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface EntryWrite {
  readonly key: Uint8Array;
  /** `null`: the entry is removed. */
  readonly value: Uint8Array | null;
}

/** The key as a text, for maps: its bytes as Latin-1. */
export function keyName(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString("latin1");
}

/** Entries with what is written over them; both ascend. */
export function* overlaid(entries: Iterable<Entry>, writes: Iterable<EntryWrite>): Generator<Entry> {
  const written = writes[Symbol.iterator]();
  try {
    let next = written.next();
    for (const entry of entries) {
      let order = 1;
      for (; next.done !== true; next = written.next()) {
        const { key, value } = next.value;
        order = Buffer.compare(entry.key, key);
        if (order < 0) break;
        if (value !== null) yield { key, value };
        if (order === 0) {
          next = written.next();
          break;
        }
      }
      if (order !== 0) yield entry;
    }
    for (; next.done !== true; next = written.next()) {
      const { key, value } = next.value;
      if (value !== null) yield { key, value };
    }
  } finally {
    written.return?.();
  }
}

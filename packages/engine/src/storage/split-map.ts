/**
 * A map by text that grows without a long turn: a `Map` of tens of thousands of entries moves all of them at once each time
 * that it doubles. This one is many small maps, and which of them a key is in follows from some of its characters.
 */

/** A power of two. A hundred thousand entries are some 1,600 in each. */
const PARTS = 64;
/** Of a key, the last so many characters tell its part, where ids that are counted up differ, and some of the others. */
const LAST = 24;
const OTHERS = 8;

export class SplitMap<V> {
  /** Made when they get their first entry: most of these maps have few. */
  #parts: (Map<string, V> | undefined)[] = [];

  get(key: string): V | undefined {
    return this.#parts[partOf(key)]?.get(key);
  }

  set(key: string, value: V): void {
    const part = partOf(key);
    const known = this.#parts[part];
    if (known === undefined) this.#parts[part] = new Map([[key, value]]);
    else known.set(key, value);
  }

  /** In no order. */
  *values(): Generator<V> {
    for (const part of this.#parts) if (part !== undefined) yield* part.values();
  }

  clear(): void {
    this.#parts = [];
  }
}

function partOf(key: string): number {
  let sum = key.length;
  let i = key.length - 1;
  for (const end = Math.max(0, key.length - LAST); i >= end; i--) sum = added(sum, key.charCodeAt(i));
  if (i < 0) return sum & (PARTS - 1);
  for (const step = Math.ceil((i + 1) / OTHERS); i >= 0; i -= step) sum = added(sum, key.charCodeAt(i));
  return sum & (PARTS - 1);
}

/** Has each bit of what was added change the lowest ones (FNV-1a with a fold). */
function added(sum: number, code: number): number {
  const mixed = Math.imul(sum ^ code, 0x0100_0193);
  return mixed ^ (mixed >>> 15);
}

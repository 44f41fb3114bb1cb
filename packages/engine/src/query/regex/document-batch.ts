/** Documents on their way to another thread: one piece of memory, and where each of them ends in it. */

/** Where it is told whether a document matches: a bit of a block's rows. */
export interface DocumentRow {
  readonly found: Uint32Array;
  readonly local: number;
}

const FIRST_BYTES = 16 * 1024;
/** Some milliseconds of reading, so that both threads have work; a longer document goes alone. */
const MAX_BYTES = 256 * 1024;
const MAX_DOCUMENTS = 2_048;

export class DocumentBatch {
  /** By document. */
  readonly rows: DocumentRow[] = [];
  #text = new Uint8Array(FIRST_BYTES);
  readonly #ends: number[] = [];

  /** `false`: it is full, and nothing was added. */
  add(document: Uint8Array, row: DocumentRow): boolean {
    const start = this.#ends.at(-1) ?? 0;
    const end = start + document.length;
    if (this.rows.length > 0 && (end > MAX_BYTES || this.rows.length === MAX_DOCUMENTS)) return false;
    if (end > this.#text.length) this.#grow(end, start);
    this.#text.set(document, start);
    this.#ends.push(end);
    this.rows.push(row);
    return true;
  }

  /** Nothing can be added any more: the memory goes with the message. */
  packed(): { readonly text: Uint8Array<ArrayBuffer>; readonly ends: Uint32Array<ArrayBuffer> } {
    return { text: this.#text, ends: Uint32Array.from(this.#ends) };
  }

  #grow(needed: number, used: number): void {
    const text = new Uint8Array(needed > MAX_BYTES ? needed : Math.min(MAX_BYTES, 4 * needed));
    text.set(this.#text.subarray(0, used));
    this.#text = text;
  }
}

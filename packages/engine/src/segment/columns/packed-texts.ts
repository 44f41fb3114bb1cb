/** Texts one after the other as bytes, decoded one at a time: what a file has in place of a `TextTable`. */
import { isLatin1 } from "@sheaf/protocol";
import { TEXT } from "./cell-writer.ts";
import type { Texts } from "./text-table.ts";

export interface PackedBytes {
  /** Where each text ends. */
  readonly ends: Uint32Array;
  /** Of each text its form, see `TEXT`, then its characters. */
  readonly bytes: Buffer;
}

export function packTexts(texts: readonly string[]): PackedBytes {
  const parts = texts.map(packText);
  let end = 0;
  const ends = Uint32Array.from(parts, ({ length }) => (end += length));
  return { ends, bytes: Buffer.concat(parts, end) };
}

function packText(text: string): Buffer {
  const latin1 = isLatin1(text);
  const form = Buffer.of(latin1 ? TEXT.latin1 : TEXT.utf16);
  return Buffer.concat([form, Buffer.from(text, latin1 ? "latin1" : "utf16le")]);
}

/** Texts whose numbers are remembered: a filter asks for the same few keys in every row. */
const MAX_FOUND = 64;

export class PackedTexts implements Texts {
  readonly #packed: PackedBytes;
  /** Those that were asked for. */
  readonly #texts: (string | undefined)[] = [];
  readonly #found = new Map<string, number | undefined>();

  constructor(packed: PackedBytes) {
    this.#packed = packed;
  }

  get length(): number {
    return this.#packed.ends.length;
  }

  find(text: string): number | undefined {
    if (this.#found.has(text)) return this.#found.get(text);
    const number = this.#search(packText(text));
    if (this.#found.size >= MAX_FOUND) this.#found.clear();
    this.#found.set(text, number);
    return number;
  }

  at(number: number): string | undefined {
    const known = this.#texts[number];
    if (known !== undefined || number >= this.length) return known;
    const { ends, bytes } = this.#packed;
    const start = number === 0 ? 0 : ends[number - 1]!;
    const encoding = bytes[start] === TEXT.latin1 ? "latin1" : "utf16le";
    return (this.#texts[number] = bytes.toString(encoding, start + 1, ends[number]));
  }

  #search(packed: Buffer): number | undefined {
    const { ends, bytes } = this.#packed;
    let start = 0;
    for (let number = 0; number < ends.length; number++) {
      const end = ends[number]!;
      // A comparison takes many times as long as a look at the length.
      if (end - start === packed.length && packed.compare(bytes, start, end) === 0) return number;
      start = end;
    }
    return undefined;
  }
}

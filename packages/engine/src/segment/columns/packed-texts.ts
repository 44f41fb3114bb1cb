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
  const parts: Buffer[] = [];
  const ends = new Uint32Array(texts.length);
  let end = 0;
  for (const [i, text] of texts.entries()) {
    const latin1 = isLatin1(text);
    const form = Buffer.of(latin1 ? TEXT.latin1 : TEXT.utf16);
    const characters = Buffer.from(text, latin1 ? "latin1" : "utf16le");
    parts.push(form, characters);
    end += form.length + characters.length;
    ends[i] = end;
  }
  return { ends, bytes: Buffer.concat(parts, end) };
}

export class PackedTexts implements Texts {
  readonly #packed: PackedBytes;
  /** Those that were asked for. */
  readonly #texts: (string | undefined)[] = [];
  #numbers: Map<string, number> | null = null;

  constructor(packed: PackedBytes) {
    this.#packed = packed;
  }

  get length(): number {
    return this.#packed.ends.length;
  }

  find(text: string): number | undefined {
    if (this.#numbers === null) {
      this.#numbers = new Map();
      for (let number = 0; number < this.length; number++) this.#numbers.set(this.at(number)!, number);
    }
    return this.#numbers.get(text);
  }

  at(number: number): string | undefined {
    const known = this.#texts[number];
    if (known !== undefined || number >= this.length) return known;
    const { ends, bytes } = this.#packed;
    const start = number === 0 ? 0 : ends[number - 1]!;
    const encoding = bytes[start] === TEXT.latin1 ? "latin1" : "utf16le";
    return (this.#texts[number] = bytes.toString(encoding, start + 1, ends[number]));
  }
}

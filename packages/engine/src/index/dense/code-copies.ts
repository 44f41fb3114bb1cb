/**
 * Codes of the slots of a filter, copied into blocks for FastScan. Gathering them one by one from all over a segment
 * takes several times as long, so a filter that is asked for again is worth a copy. The copies used last are kept, as many
 * as take no more memory than the records of the segment's rows.
 */
import type { DenseSegment } from "./dense-segment.ts";
import { recordBytes } from "./segment-layout.ts";

export interface CodeCopy {
  /** In blocks of 32 rows; the last one is filled up with zeros. */
  readonly blocks: Uint8Array;
  readonly factors: Float32Array;
  readonly biases: Float32Array;
  readonly lists: Uint16Array;
}

export class CodeCopies {
  readonly #segment: DenseSegment;
  readonly #maxBytes: number;
  /** By the slots, the one used last at the end. */
  readonly #copies = new Map<Uint32Array, CodeCopy>();
  readonly #askedOnce = new WeakSet<Uint32Array>();
  #bytes = 0;

  constructor(segment: DenseSegment) {
    this.#segment = segment;
    this.#maxBytes = segment.capacity * recordBytes(segment.layout.recordCodeBytes);
  }

  /** The copy of these slots, made when they are asked for a second time; `null`: there is none. */
  of(slots: Uint32Array): CodeCopy | null {
    let copy = this.#copies.get(slots);
    if (copy === undefined) {
      if (!this.#askedOnce.has(slots)) {
        this.#askedOnce.add(slots);
        return null;
      }
      copy = this.#segment.copyCodes(slots);
      this.#bytes += bytesOf(copy);
    }
    this.#copies.delete(slots);
    this.#copies.set(slots, copy);
    this.#forget();
    return copy;
  }

  #forget(): void {
    for (const [slots, copy] of this.#copies) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#copies.delete(slots);
      this.#bytes -= bytesOf(copy);
    }
  }
}

function bytesOf({ blocks, factors, biases, lists }: CodeCopy): number {
  return blocks.byteLength + factors.byteLength + biases.byteLength + lists.byteLength;
}

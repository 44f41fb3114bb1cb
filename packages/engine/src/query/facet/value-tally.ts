/**
 * How often each value of a metadata key occurs: of all values, or of a part of them by hash where all are too many to be
 * held at once. Numbers are known by their keys, see `scalarKey`, and by their kind as well: 1 and 1.0 are two.
 */
import { LIMITS, type MetadataScalar } from "@sheaf/protocol";
import { scalarCode } from "../../segment/columns/scalar-code.ts";
import { NumberCounts } from "./number-counts.ts";
import { type TextBytes, TextCounts } from "./text-counts.ts";

export type NumberKind = "int" | "float";
type Numeric = bigint | number;

/** Which of how many parts. */
export interface TallyPart {
  readonly part: number;
  readonly parts: number;
}

/** A value and its count. One object stands for all values of a tally, one after the other. */
export interface TalliedValue {
  readonly count: number;
  /** The key of a number; `null`: it is none. */
  readonly number: Numeric | null;
  /** Makes the value, an integer as `bigint`. */
  value(): MetadataScalar;
}

export class ValueTally {
  /** Rows that hold a value, of whichever part. */
  holders = 0;
  /** Occurrences of texts that are too long to be listed. */
  unlisted = 0;
  readonly #part: TallyPart;
  readonly #numbers: Readonly<Record<NumberKind, NumberCounts>> = {
    int: new NumberCounts(),
    float: new NumberCounts(),
  };
  readonly #booleans = [0, 0];
  readonly #texts = new TextCounts();

  constructor(part: TallyPart) {
    this.#part = part;
  }

  get heldBytes(): number {
    const { int, float } = this.#numbers;
    return int.heldBytes + float.heldBytes + this.#texts.heldBytes;
  }

  wants(key: MetadataScalar): boolean {
    return this.#part.parts === 1 || this.wantsHash(scalarCode(key).hash);
  }

  /** `hash`: of the value's code. */
  wantsHash(hash: number): boolean {
    const { part, parts } = this.#part;
    return parts === 1 || hash % parts === part;
  }

  addNumber(key: Numeric, kind: NumberKind, count: number): void {
    this.#numbers[kind].add(key, count);
  }

  addBoolean(value: boolean, count: number): void {
    this.#booleans[Number(value)]! += count;
  }

  /** One that may be listed. */
  addText(text: TextBytes, count: number): void {
    this.#texts.add(text, count);
  }

  /** A text or boolean of its own. */
  addOther(key: string | boolean): void {
    if (typeof key === "boolean") this.addBoolean(key, 1);
    else if (key.length > LIMITS.facetTextCharacters) this.unlisted++;
    else {
      const { bytes } = scalarCode(key);
      this.addText({ bytes, start: 0, end: bytes.length }, 1);
    }
  }

  /** To be done with each before the next one. */
  *entries(): Generator<TalliedValue> {
    const { int, float } = this.#numbers;
    yield* numbersOf(int, (number) => BigInt(number));
    yield* numbersOf(float, (number) => Number(number) + 0);
    for (const value of [false, true]) {
      const count = this.#booleans[Number(value)]!;
      if (count > 0) yield { number: null, count, value: () => value };
    }
    const texts = this.#texts;
    let place = 0;
    const entry = { number: null, count: 0, value: () => texts.textAt(place) };
    for (; place < texts.length; place++) {
      entry.count = texts.countAt(place);
      yield entry;
    }
  }
}

function* numbersOf(counts: NumberCounts, valueOf: (number: Numeric) => Numeric): Generator<TalliedValue> {
  const entry = { number: 0 as Numeric, count: 0, value: () => valueOf(entry.number) };
  for (let place = 0; place < counts.length; place++) {
    entry.number = counts.numberAt(place);
    entry.count = counts.countAt(place);
    yield entry;
  }
  for (const [number, count] of counts.large) {
    [entry.number, entry.count] = [number, count];
    yield entry;
  }
}

/**
 * How often each value of a metadata key occurs: of all values, or of a part of them by hash where all are too many to be
 * held at once. Numbers are known by their keys, see `scalarKey`, and by their kind as well: 1 and 1.0 are two.
 */
import { LIMITS, type MetadataScalar } from "@sheaf/protocol";
import { scalarCode } from "../../segment/columns/scalar-code.ts";
import { NumberCounts } from "./number-counts.ts";
import { TextCounts } from "./text-counts.ts";

export type NumberKind = "int" | "float";
type Numeric = bigint | number;

/** Which of how many parts. */
export interface TallyPart {
  readonly part: number;
  readonly parts: number;
}

/** A value and its count. One object stands for all values of a list, one after the other. */
export interface TalliedValue {
  readonly count: number;
  /** The key of a number; `null`: it is none. */
  readonly number: Numeric | null;
  readonly isInteger: boolean;
  /** Makes the value, an integer as `bigint`. */
  value(): MetadataScalar;
}

/** A generator would take longer than what is done with each value. */
export interface TalliedValues {
  readonly length: number;
  /** Asked from the first place to the last; to be done with before the next one. */
  at(place: number): TalliedValue;
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

  /** One that may be listed: what `bytes` have from `start` to `end`, see `scalarCode`. */
  addText(bytes: Uint8Array, start: number, end: number, count: number): void {
    this.#texts.add(bytes, start, end, count);
  }

  /** A text or boolean of its own. */
  addOther(key: string | boolean, count = 1): void {
    if (typeof key === "boolean") this.addBoolean(key, count);
    else if (key.length > LIMITS.facetTextCharacters) this.unlisted += count;
    else {
      const { bytes } = scalarCode(key);
      this.addText(bytes, 0, bytes.length, count);
    }
  }

  /** Integers, floats, and what is no number. */
  lists(): readonly TalliedValues[] {
    const { int, float } = this.#numbers;
    return [
      ...numbersOf(int, "int"),
      ...numbersOf(float, "float"),
      this.#booleanValues(),
      this.#textValues(),
    ];
  }

  #booleanValues(): TalliedValues {
    const held = [false, true].filter((value) => this.#booleans[Number(value)]! > 0);
    const entryOf = (value: boolean): TalliedValue => ({
      ...{ number: null, isInteger: false, count: this.#booleans[Number(value)]! },
      value: () => value,
    });
    return { length: held.length, at: (place) => entryOf(held[place]!) };
  }

  #textValues(): TalliedValues {
    const texts = this.#texts;
    const entry = {
      number: null,
      isInteger: false,
      count: 0,
      place: 0,
      value: () => texts.textAt(entry.place),
    };
    const at = (place: number): TalliedValue => {
      entry.place = place;
      entry.count = texts.countAt(place);
      return entry;
    };
    return { length: texts.length, at };
  }
}

/** Those that a `number` holds, then the others. */
function numbersOf(counts: NumberCounts, kind: NumberKind): readonly TalliedValues[] {
  const entry = { number: 0 as Numeric, isInteger: kind === "int", count: 0, value: () => numberOf(entry) };
  const at = (place: number): TalliedValue => {
    entry.number = counts.numberAt(place);
    entry.count = counts.countAt(place);
    return entry;
  };
  const large = counts.large.entries();
  const nextLarge = (): TalliedValue => {
    [entry.number, entry.count] = large.next().value!;
    return entry;
  };
  return [
    { length: counts.length, at },
    { length: counts.large.size, at: nextLarge },
  ];
}

/** The number that a key stands for. Of floats -0 is 0. */
export function numberOf({
  number,
  isInteger,
}: {
  readonly number: Numeric;
  readonly isInteger: boolean;
}): Numeric {
  return isInteger ? BigInt(number) : Number(number) + 0;
}

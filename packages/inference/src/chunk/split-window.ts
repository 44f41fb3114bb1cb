/**
 * The chunks that a window of a text begins with, as far as the window shows where they end. A chunk goes as far as its
 * tokens allow, back to the last border that it is asked for; it ends before the next section where sections are asked for. Its
 * tokens are those of its own text, counted by the model's tokenizer: what units have alone only says where to look.
 */
import type { ChunkedBy } from "@sheaf/protocol";
import { type MarkdownState, sectionStarts } from "./section-starts.ts";
import { BORDER, type TextUnits, textUnits } from "./text-units.ts";

export interface ChunkRules {
  readonly by: ChunkedBy;
  /** Of a chunk, without what the model adds. */
  readonly tokens: number;
  /** Of the end of a chunk that the next one begins with, at most; at most half of `tokens`. */
  readonly overlap: number;
}

/** Where a window stands. */
export interface WindowState extends MarkdownState {
  /** How much of it the chunk before has already. */
  readonly covered: number;
}

export interface SplitWindow {
  /** Start and end of each chunk, in UTF-16 units of the window. */
  readonly ranges: readonly number[];
  /** Where the next window begins; 0: the first chunk does not end in this one. */
  readonly next: number;
  readonly state: WindowState;
}

/** More than text has: a chunk of blanks, say, ends all the same. */
const CHARACTERS_PER_TOKEN = 8;

/** @param count Tokens of a text. @param isLast Nothing of the text is behind the window. */
export function splitWindow(
  window: { readonly text: string; readonly isLast: boolean; readonly state: WindowState },
  rules: ChunkRules,
  count: (text: string) => number,
): SplitWindow {
  const { text, isLast, state } = window;
  const units = textUnits(text, { by: rules.by, state, most: rules.tokens }, count);
  const packer = new Packer(text, units, rules, count);
  const length = units.tokens.length;
  const ranges: number[] = [];
  let from = 0;
  let covered = units.starts.findIndex((start) => start >= state.covered);
  // Of a text without units there is one, too.
  const least = isLast ? 1 : 0;
  while (covered < length || ranges.length < least) {
    const end = packer.end(from, covered);
    if (end.to === length && !isLast) break;
    ranges.push(units.starts[end.from] ?? 0, units.starts[end.to]!);
    covered = end.to;
    from = packer.overlap(end.from, covered);
  }
  const next = covered === length ? text.length : units.starts[from]!;
  const { fence } = rules.by === "headings" ? sectionStarts(text.slice(0, next), state) : state;
  const atLine = /(?:^|\n)[ \t]*$/u.test(text.slice(Math.max(0, next - 64), next));
  return { ranges, next, state: { fence, atLine, covered: units.starts[covered]! - next } };
}

class Packer {
  readonly #text: string;
  readonly #units: TextUnits;
  readonly #rules: ChunkRules;
  readonly #count: (text: string) => number;

  constructor(text: string, units: TextUnits, rules: ChunkRules, count: (text: string) => number) {
    this.#text = text;
    this.#units = units;
    this.#rules = rules;
    this.#count = count;
  }

  /** The chunk that begins with unit `from`, or where nothing new has room beside what is `covered`, with that. */
  end(from: number, covered: number): { readonly from: number; readonly to: number } {
    let to = this.#reach(from);
    while (to > from + 1) {
      const tokens = this.#count(this.#text.slice(this.#units.starts[from], this.#units.starts[to]));
      if (tokens <= this.#rules.tokens) break;
      to =
        from + Math.max(1, Math.min(to - from - 1, Math.floor(((to - from) * this.#rules.tokens) / tokens)));
    }
    if (to <= covered && from < covered) return this.end(covered, covered);
    return { from, to: this.#atBorder(from, to, covered) };
  }

  /** Where the next chunk begins. */
  overlap(from: number, to: number): number {
    const { starts, tokens, borders } = this.#units;
    const { by, overlap } = this.#rules;
    // Blanks have no tokens.
    const first = starts[to]! - CHARACTERS_PER_TOKEN * overlap;
    const least = by === "tokens" ? BORDER.word : BORDER.sentence;
    if (borders[to] === BORDER.section) return to;
    let begin = to;
    let sum = 0;
    for (let unit = to - 1; unit > from; unit--) {
      sum += tokens[unit]!;
      if (sum > overlap || starts[unit]! < first) break;
      if (borders[unit]! >= least) begin = unit;
    }
    return begin;
  }

  /** As far as the tokens of the units alone, and the characters, say. */
  #reach(from: number): number {
    const { starts, tokens, borders } = this.#units;
    const last = starts[from]! + CHARACTERS_PER_TOKEN * this.#rules.tokens;
    let sum = 0;
    let to = from;
    while (to < tokens.length) {
      sum += tokens[to]!;
      const isFull = sum > this.#rules.tokens || starts[to + 1]! > last;
      if (to > from && (isFull || borders[to] === BORDER.section)) break;
      to++;
    }
    return to;
  }

  #atBorder(from: number, to: number, covered: number): number {
    const { tokens, borders } = this.#units;
    if (this.#rules.by === "tokens" || to === tokens.length) return to;
    for (let unit = to; unit > Math.max(from, covered); unit--)
      if (borders[unit]! >= BORDER.sentence) return unit;
    return to;
  }
}

/**
 * A text as units that chunks are made of: words with the white space behind them, and what kind of border is before each.
 * Together the units are the text. One is short, whatever the text is: what has no white space is cut between characters.
 */
import type { ChunkedBy } from "@sheaf/protocol";
import { type MarkdownState, sectionStarts } from "./section-starts.ts";

/** How much rather a chunk begins here. */
export const BORDER = { word: 0, sentence: 1, section: 2 } as const;

export interface TextUnits {
  /** Unit `u` goes from `starts[u]` to `starts[u + 1]`; the last entry is the length of the text. */
  readonly starts: readonly number[];
  /** Before each unit. */
  readonly borders: readonly number[];
  /** Tokens of each unit alone. */
  readonly tokens: readonly number[];
}

const WORD = /\S{1,64}\s{0,64}|\s{1,64}/gu;
/** By the rules of Unicode (UAX 29), which are the same for all languages. */
const SENTENCES = new Intl.Segmenter("und", { granularity: "sentence" });

/** @param count Tokens of a word; a unit has at most `most` of them, or one character. */
export function textUnits(
  text: string,
  { by, state, most }: { readonly by: ChunkedBy; readonly state: MarkdownState; readonly most: number },
  count: (word: string) => number,
): TextUnits {
  const units = { starts: [] as number[], borders: [] as number[], tokens: [] as number[] };
  const add = (from: number, part: string, border: number): void => {
    const tokens = count(part.trimEnd());
    const half = tokens > most ? middle(part) : 0;
    if (half > 0) {
      add(from, part.slice(0, half), border);
      add(from + half, part.slice(half), BORDER.word);
      return;
    }
    units.starts.push(from);
    units.borders.push(border);
    units.tokens.push(tokens);
  };
  for (const { from, to, border } of passages(text, by, state)) {
    let next = border;
    for (const { 0: word, index } of text.slice(from, to).matchAll(WORD)) {
      add(from + index, word, next);
      next = BORDER.word;
    }
  }
  units.starts.push(text.length);
  return units;
}

interface Passage {
  readonly from: number;
  readonly to: number;
  /** Before it. */
  readonly border: number;
}

function* passages(text: string, by: ChunkedBy, state: MarkdownState): Generator<Passage> {
  if (by === "tokens") {
    yield { from: 0, to: text.length, border: BORDER.word };
    return;
  }
  const sections = by === "headings" ? sectionStarts(text, state).starts : [];
  const starts = [...sections.filter((start) => start > 0), text.length];
  let from = 0;
  for (const to of starts) {
    const border = from === 0 ? BORDER.word : BORDER.section;
    for (const { index, segment } of SENTENCES.segment(text.slice(from, to))) {
      const at = from + index;
      yield { from: at, to: at + segment.length, border: index === 0 ? border : BORDER.sentence };
    }
    from = to;
  }
}

/** The middle of a text in UTF-16 units, not within a character; 0: it is one. */
function middle(text: string): number {
  const half = text.length >> 1;
  const unit = text.charCodeAt(half);
  return unit >= 0xdc00 && unit <= 0xdfff ? half - 1 : half;
}

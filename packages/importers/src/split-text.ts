/**
 * Cuts a text into ranges of about so many tokens, at the best border there is: headings, then blank lines, lines, sentences,
 * words, characters. Tokens are estimated from above for word-piece vocabularies; whoever knows better cuts again.
 */
export interface TextRange {
  /** UTF-16 units, from the first to behind the last. */
  readonly start: number;
  readonly end: number;
}

/** A range begins behind each of these. */
const BORDERS: readonly RegExp[] = [
  /\n(?=#{1,6} )/gu,
  /\n\s*\n/gu,
  /\n/gu,
  /[.!?][)"'”’]?\s+|[。！？]/gu,
  /\s+/gu,
  /[\s\S]/gu,
];
const TOKENS = /[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu;
/** Scripts that are written without spaces have a token for each character. */
const DENSE = /[\u0e00-\u0fff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[\u{10000}-\u{10ffff}]/gu;
const LETTERS_PER_TOKEN = 4;

export function splitText(text: string, tokens: number): readonly TextRange[] {
  const found: TextRange[] = [];
  splitRange({ text, tokens, found }, { start: 0, end: text.length }, 0);
  return found;
}

interface Splitting {
  readonly text: string;
  readonly tokens: number;
  readonly found: TextRange[];
}

function splitRange(splitting: Splitting, range: TextRange, level: number): void {
  const { text, tokens, found } = splitting;
  if (level >= BORDERS.length || estimate(text.slice(range.start, range.end)) <= tokens) {
    add(splitting, range);
    return;
  }
  let [start, end, used] = [range.start, range.start, 0];
  const flush = (): void => {
    if (end > start) add(splitting, { start, end });
    [start, used] = [end, 0];
  };
  for (const piece of pieces(text, range, level)) {
    const size = estimate(text.slice(piece.start, piece.end));
    if (used + size > tokens) flush();
    if (size > tokens) {
      splitRange({ text, tokens, found }, piece, level + 1);
      start = piece.end;
    } else used += size;
    end = piece.end;
  }
  flush();
}

/** They cover the range, each with the border behind it. */
function* pieces(text: string, { start, end }: TextRange, level: number): Generator<TextRange> {
  const slice = text.slice(start, end);
  let from = 0;
  for (const match of slice.matchAll(BORDERS[level]!)) {
    const to = match.index + match[0].length;
    if (to > from) yield { start: start + from, end: start + to };
    from = to;
  }
  if (from < slice.length) yield { start: start + from, end };
}

/** Without white space around it. */
function add({ text, found }: Splitting, { start, end }: TextRange): void {
  const slice = text.slice(start, end);
  const trimmed = slice.trim();
  if (trimmed === "") return;
  const from = start + slice.indexOf(trimmed);
  found.push({ start: from, end: from + trimmed.length });
}

function estimate(text: string): number {
  let tokens = 0;
  for (const [word] of text.matchAll(TOKENS)) {
    const dense = word.match(DENSE)?.length ?? 0;
    tokens += dense + Math.ceil((word.length - dense) / LETTERS_PER_TOKEN);
  }
  return tokens;
}

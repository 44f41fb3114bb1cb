/**
 * WordPiece by longest match first, as `@huggingface/tokenizers` has it, but for the cost: that library tries every
 * length of what is left of a word, which is the square of its length (640 words of 100 letters take 6 s). Nothing longer than
 * the longest piece of the vocabulary can match, so nothing longer is tried.
 */

/** What is exchanged of the library's model, whose own types do not resolve. */
interface WordPieceModel {
  readonly config: { readonly type?: string; readonly continuing_subword_prefix?: string };
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly unk_token: string;
  readonly max_input_chars_per_word?: number;
  encode(words: readonly string[]): string[];
}

/** Other models than WordPiece stay as they are. Call it once, before the first text. */
export function useBoundedWordPiece(tokenizer: { readonly model: object }): void {
  const model = tokenizer.model as WordPieceModel;
  const { max_input_chars_per_word: wordCharacters, config } = model;
  const prefix = config.continuing_subword_prefix;
  if (config.type !== "WordPiece" || wordCharacters === undefined || prefix === undefined) return;
  let longest = 1;
  for (const piece of model.tokens_to_ids.keys()) longest = Math.max(longest, piece.length);
  const split = (word: string): readonly string[] | null => {
    const ends = characterEnds(word);
    if (ends.length > wordCharacters) return null;
    const pieces: string[] = [];
    let from = 0;
    for (let start = 0; start < ends.length;) {
      let end = Math.min(ends.length, start + longest);
      const pieceTo = (last: number): string =>
        (start === 0 ? "" : prefix) + word.slice(from, ends[last - 1]);
      while (end > start && !model.tokens_to_ids.has(pieceTo(end))) end -= 1;
      if (end === start) return null;
      pieces.push(pieceTo(end));
      from = ends[end - 1] as number;
      start = end;
    }
    return pieces;
  };
  model.encode = (words) => words.flatMap((word) => split(word) ?? [model.unk_token]);
}

/** Where each code point ends, in UTF-16 units. */
function characterEnds(word: string): number[] {
  const ends: number[] = [];
  let end = 0;
  for (const character of word) ends.push((end += character.length));
  return ends;
}

/**
 * Where a text may be cut without a change of its tokens: those of the parts, one after another, are those of the whole.
 * So a long text is tokenized in parts, between which other texts have their turn. Known for the tokenizers whose rules
 * show it; the texts of others stay whole.
 *
 * - BERT: behind white space, punctuation and ideographs, each of which ends a word. Not where lower case depends on
 *   what lies further on, as that of a final sigma does.
 * - Qwen: before a space between two ASCII letters, where its pattern ends one match and starts another.
 */

/** @returns The end of the longest start of `text` that ends at a border; 0 if there is none. */
export type BorderFinder = (text: string) => number;

interface TokenizerJson {
  readonly normalizer?: { readonly type?: string; readonly handle_chinese_chars?: boolean } | null;
  readonly pre_tokenizer?: {
    readonly type?: string;
    readonly pretokenizers?: readonly {
      readonly type?: string;
      readonly pattern?: { readonly Regex?: string };
      readonly behavior?: string;
      readonly invert?: boolean;
      readonly add_prefix_space?: boolean;
      readonly use_regex?: boolean;
    }[];
  } | null;
  readonly model?: { readonly type?: string };
  readonly added_tokens?: readonly { readonly content: string }[];
}

interface TokenizerConfig {
  readonly remove_space?: boolean;
  readonly do_lowercase_and_remove_accent?: boolean;
}

const QWEN_PATTERN =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** Made of the two files of a tokenizer. */
export function borderFinder(tokenizerJson: object, tokenizerConfig: object): BorderFinder {
  const tokenizer = tokenizerJson as TokenizerJson;
  const { remove_space, do_lowercase_and_remove_accent } = tokenizerConfig as TokenizerConfig;
  const added = (tokenizer.added_tokens ?? []).map(({ content }) => content).join("");
  if (remove_space === true || do_lowercase_and_remove_accent === true) return () => 0;
  if (isBert(tokenizer)) {
    const ideographs = tokenizer.normalizer?.handle_chinese_chars === true;
    return (text) => borderOfBert(text, ideographs, added);
  }
  if (isQwen(tokenizer) && !added.includes(" ")) return borderOfQwen;
  return () => 0;
}

/** Of BM25: behind whatever is neither letter nor number, but for a white space that lower case looks across. */
export function borderOfWords(text: string): number {
  let end = text.length;
  while (end > 0 && /[\p{L}\p{N}_\ufeff\ud800-\udfff]/u.test(text.charAt(end - 1))) end -= 1;
  return end;
}

function isBert({ normalizer, pre_tokenizer, model }: TokenizerJson): boolean {
  return (
    normalizer?.type === "BertNormalizer" &&
    pre_tokenizer?.type === "BertPreTokenizer" &&
    model?.type === "WordPiece"
  );
}

function borderOfBert(text: string, ideographs: boolean, added: string): number {
  let end = text.length;
  while (end > 0) {
    const unit = text.charAt(end - 1);
    if (!endsWord(unit, ideographs) || added.includes(unit)) end -= 1;
    else if (!isCaseIgnorable(unit)) return end;
    else {
      const start = startOfIgnorables(text, end);
      if (start === 0 || !/[\p{Cased}\ud800-\udfff]/u.test(text.charAt(start - 1))) return end;
      end = start;
    }
  }
  return 0;
}

/**
 * A sigma is final or not by the letter before it, and after it, across what case ignores: behind a letter, such a run is
 * not cut, wherever there may be a sigma.
 */
function startOfIgnorables(text: string, end: number): number {
  let start = end;
  while (start > 0 && isCaseIgnorable(text.charAt(start - 1))) start -= 1;
  return start;
}

function isCaseIgnorable(unit: string): boolean {
  return /\p{Case_Ignorable}/u.test(unit);
}

/** White space that BERT's normalizer keeps, punctuation that no normal form changes, and ideographs. */
function endsWord(unit: string, ideographs: boolean): boolean {
  if (/[\t\n\r\p{Z}]/u.test(unit)) return true;
  if (/[\p{P}!-/:-@[-`{-~]/u.test(unit)) return unit.normalize("NFD") === unit;
  return ideographs && /[\u3400-\u4dbf\u4e00-\u9fff]/u.test(unit);
}

function isQwen({ normalizer, pre_tokenizer, model }: TokenizerJson): boolean {
  const [split, bytes, ...more] = pre_tokenizer?.pretokenizers ?? [];
  return (
    normalizer?.type === "NFC" &&
    model?.type === "BPE" &&
    pre_tokenizer?.type === "Sequence" &&
    more.length === 0 &&
    split?.type === "Split" &&
    split.pattern?.Regex === QWEN_PATTERN &&
    split.behavior === "Isolated" &&
    split.invert === false &&
    bytes?.type === "ByteLevel" &&
    bytes.add_prefix_space === false &&
    bytes.use_regex === false
  );
}

function borderOfQwen(text: string): number {
  for (let at = text.lastIndexOf(" ", text.length - 2); at > 0; at = text.lastIndexOf(" ", at - 1)) {
    if (/[a-z] [a-z]/i.test(text.slice(at - 1, at + 2))) return at;
  }
  return 0;
}

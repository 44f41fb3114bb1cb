/**
 * Unicode normalization whose cost grows with the length of a text and no faster. ICU brings a run of combining marks
 * into canonical order by insertion, so 64,000 marks in falling order take 5 s. Here a long run is brought into that
 * order first. Canonically equivalent texts have the same normal form, so the result is the same
 * (Unicode Standard Annex #15, https://unicode.org/reports/tr15, and section 3.11 of the standard).
 */

/** A form of `String.prototype.normalize`. */
export type NormalForm = "NFC" | "NFD" | "NFKC" | "NFKD";

/** Marks, and the two letters that NFKC turns into marks. What is shorter is left to ICU. */
const LONG_RUN = /[\p{M}\uff9e\uff9f]{64,}/gu;
/** Marks of the lowest and of the highest combining class there is, 1 and 240. */
const LOWEST = "\u0334";
const HIGHEST = "\u0345";

/** Equals `text.normalize(form)`. */
export function normalizeLinearly(text: string, form: NormalForm): string {
  const decomposition = form === "NFKC" || form === "NFKD" ? "NFKD" : "NFD";
  return text.replace(LONG_RUN, (run) => inCanonicalOrder(run, decomposition)).normalize(form);
}

/** Decomposed, and between two starters stably sorted by combining class. */
function inCanonicalOrder(run: string, decomposition: "NFD" | "NFKD"): string {
  const ranks = new Map<string, number>();
  // Each distinct mark is decomposed once: a run may have many, of few kinds.
  const parts = new Map<string, string>();
  for (const mark of new Set(run)) parts.set(mark, mark.normalize(decomposition));
  const marks = new Set([...parts.values()].join(""));
  const ordered = [...marks].filter((mark) => !isStarter(mark)).sort(compareClasses);
  let rank = 0;
  for (const [place, mark] of ordered.entries()) {
    if (place > 0 && compareClasses(ordered[place - 1] as string, mark) !== 0) rank += 1;
    ranks.set(mark, rank);
  }
  return sortBetweenStarters(run, parts, ranks);
}

function sortBetweenStarters(
  run: string,
  parts: ReadonlyMap<string, string>,
  ranks: ReadonlyMap<string, number>,
): string {
  let result = "";
  let byRank: string[] = [];
  const flush = (): void => {
    result += byRank.join("");
    byRank = [];
  };
  for (const mark of run) {
    for (const part of parts.get(mark) as string) {
      const rank = ranks.get(part);
      if (rank === undefined) {
        flush();
        result += part;
      } else {
        byRank[rank] = (byRank[rank] ?? "") + part;
      }
    }
  }
  flush();
  return result;
}

/** Whether nothing is ever moved across it: its combining class is 0. */
function isStarter(mark: string): boolean {
  return (
    !isMoved(mark, LOWEST) && !isMoved(HIGHEST, mark) && !isMoved(mark, HIGHEST) && !isMoved(LOWEST, mark)
  );
}

/** Of two marks that are no starters. */
function compareClasses(a: string, b: string): number {
  if (isMoved(a, b)) return 1;
  return isMoved(b, a) ? -1 : 0;
}

/** Whether `b` goes before `a` in canonical order. Both are decomposed already. */
function isMoved(a: string, b: string): boolean {
  return a !== b && (a + b).normalize("NFD") === b + a;
}

/** What is exchanged of a normalizer of `@huggingface/tokenizers`, whose own types do not resolve. */
interface LibraryNormalizer {
  /** Of those that do nothing else. */
  readonly form?: NormalForm;
  normalize(text: string): string;
  /** Of BERT's. */
  strip_accents?(text: string): string;
  readonly normalizers?: readonly (LibraryNormalizer | null)[];
}

/** Gives the normalizers of a tokenizer, alone or inside sequences, the linear cost. Call it once, before the first text. */
export function useLinearNormalization(tokenizer: { readonly normalizer: LibraryNormalizer | null }): void {
  if (tokenizer.normalizer !== null) exchange(tokenizer.normalizer);
}

function exchange(normalizer: LibraryNormalizer): void {
  const { form } = normalizer;
  if (form !== undefined) normalizer.normalize = (text) => normalizeLinearly(text, form);
  if (normalizer.strip_accents !== undefined) {
    normalizer.strip_accents = (text) => normalizeLinearly(text, "NFD").replaceAll(/\p{Mn}/gu, "");
  }
  for (const step of normalizer.normalizers ?? []) if (step !== null) exchange(step);
}

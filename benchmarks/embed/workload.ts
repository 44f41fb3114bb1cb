/**
 * Texts of known token counts. Their words are whole pieces of BERT's uncased vocabulary, so a text of n tokens is n - 2
 * of them between the two special tokens. What the words say costs nothing; how long a text is decides everything.
 */
import { normal, seededRandom } from "../measure/random.ts";

export interface Workload {
  readonly name: string;
  /** Tokens of each text, special ones included. */
  readonly lengths: readonly number[];
  readonly texts: readonly string[];
}

const SHORTEST = 4;
const LONGEST = 256;
/** Lengths of real passages and queries together: median 24, mean about 37, one in a hundred cut at 256. */
const MEDIAN = 24;
const SPREAD = 1;
const EQUAL = 32;
const SPECIAL_TOKENS = 2;
const WORDS = (
  "time people water house world music night school family money story river mountain letter garden winter summer " +
  "morning window church island market doctor teacher captain bridge forest village engine animal number science " +
  "history nature picture paper glass stone metal light sound voice heart blood bread fruit table chair floor wall"
).split(" ");

export function logNormalWorkload(count: number, seed: number): Workload {
  const random = seededRandom(seed);
  const lengths = Array.from({ length: count }, () => {
    const length = Math.round(MEDIAN * Math.exp(SPREAD * normal(random)));
    return Math.min(LONGEST, Math.max(SHORTEST, length));
  });
  return workload(`log-normal, median ${MEDIAN}`, lengths, random);
}

export function equalWorkload(count: number, seed: number): Workload {
  const lengths = Array.from({ length: count }, () => EQUAL);
  return workload(`equal, ${EQUAL} tokens`, lengths, seededRandom(seed));
}

/** A text of exactly `tokens` tokens. */
export function textOf(tokens: number, random: () => number): string {
  const word = (): string => WORDS[Math.floor(random() * WORDS.length)] ?? "";
  return Array.from({ length: tokens - SPECIAL_TOKENS }, word).join(" ");
}

function workload(name: string, lengths: readonly number[], random: () => number): Workload {
  return { name, lengths, texts: lengths.map((length) => textOf(length, random)) };
}

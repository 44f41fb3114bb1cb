/**
 * How a text that is longer than a piece is read: part by part, each in a turn of its own. What a part's border leaves
 * over begins the next part. A part without a border is asked for again at twice the length, up to the whole text.
 */
import { SheafError, type Truncation } from "@sheaf/protocol";
import type { TermCounts } from "../bm25/bm25-encoder.ts";
import type { Bm25Options } from "../embedder.ts";
import type { TokenizerFiles } from "./model-tokenizer.ts";
import type { FindTerms, TextAnswer, TextJob } from "./text-jobs.ts";

/** About 20 ms of the slowest tokenizer. */
export const PIECE_CHARACTERS = 8_192;

type Ask = (job: TextJob) => Promise<TextAnswer>;

/** Answers as a job of this one text would be. */
export type LongTextReader = (text: string, ask: Ask) => Promise<TextAnswer>;

interface EncodeOptions {
  readonly tokenizer: TokenizerFiles;
  readonly maxTokens: number;
  readonly truncate: Truncation;
  readonly lead: string;
}

export function encodeInParts(text: string, options: EncodeOptions, ask: Ask): Promise<TextAnswer> {
  const { tokenizer, maxTokens, truncate, lead } = options;
  const parts: Int32Array[] = [];
  let count = 0;
  return inParts(text, {
    // What follows is cut off, so it need not be known.
    enough: () => truncate === "end" && count > maxTokens,
    ask: async (part, last) => {
      const before = last ? concatenated(parts, count) : null;
      return ask({ type: "encode_part", tokenizer, text: part, before, maxTokens, truncate, lead });
    },
    take: (answer) => {
      if (answer.type !== "part_of_ids") throw unexpectedAnswer(answer);
      parts.push(answer.ids);
      count += answer.ids.length;
      return answer.consumed;
    },
  });
}

export function bm25InParts(text: string, options: Bm25Options, ask: Ask): Promise<TextAnswer> {
  const parts: TermCounts[] = [];
  return inParts(text, {
    enough: () => false,
    ask: async (part, last) => ask({ type: "bm25_part", text: part, before: last ? parts : null, options }),
    take: (answer) => {
      if (answer.type !== "part_of_terms") throw unexpectedAnswer(answer);
      parts.push(answer.terms);
      return answer.consumed;
    },
  });
}

export async function findTermsInParts(
  text: string,
  { terms, options, limit }: Omit<FindTerms, "type" | "texts">,
  ask: Ask,
): Promise<TextAnswer> {
  const places: number[] = [];
  let offset = 0;
  const take = (answer: TextAnswer): number => {
    if (answer.type !== "part_of_places") throw unexpectedAnswer(answer);
    for (const place of answer.places) places.push(offset + place);
    offset += answer.consumed;
    return answer.consumed;
  };
  const last = await inParts(text, {
    enough: () => places.length >= 2 * limit,
    ask: async (part, isLast) => ask({ type: "find_terms_part", text: part, isLast, terms, options, limit }),
    take,
  });
  take(last);
  const kept = Uint32Array.from(places.slice(0, 2 * limit));
  return { type: "find_terms", places: kept, lengths: Uint32Array.of(kept.length) };
}

export function unexpectedAnswer(answer: TextAnswer): Error {
  return new SheafError("internal", `the tokenizer answered ${answer.type}`);
}

interface Reading {
  /** Whether nothing more of the text matters. */
  readonly enough: () => boolean;
  readonly ask: (part: string, last: boolean) => Promise<TextAnswer>;
  /** Keeps what came of a part that is not the last, and tells how much of it was consumed. */
  readonly take: (answer: TextAnswer) => number;
}

async function inParts(text: string, { enough, ask, take }: Reading): Promise<TextAnswer> {
  let start = 0;
  let length = PIECE_CHARACTERS;
  while (start + length < text.length && !enough()) {
    const consumed = take(await ask(text.slice(start, start + length), false));
    start += consumed;
    length = consumed === 0 ? length * 2 : PIECE_CHARACTERS;
  }
  return ask(enough() ? "" : text.slice(start), true);
}

function concatenated(parts: readonly Int32Array[], count: number): Int32Array {
  const all = new Int32Array(count);
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}

/**
 * A whole text, window by window, each in a turn of its own. A window begins where a chunk does. One in which no chunk
 * ends comes again at twice the length.
 */
import { SheafError } from "@sheaf/protocol";
import type { TextAnswer, TextJob } from "../tokenize/text-jobs.ts";
import type { TokenizerFiles } from "../tokenize/model-tokenizer.ts";
import { PIECE_CHARACTERS } from "../tokenize/text-parts.ts";
import { MARKDOWN_START } from "./section-starts.ts";
import type { ChunkRules, WindowState } from "./split-window.ts";

export interface Splitting extends ChunkRules {
  readonly tokenizer: TokenizerFiles;
  /** What the model reads before each chunk. */
  readonly lead: string;
  /** It ends behind so many chunks. */
  readonly most: number;
}

/** Start and end of each chunk, in UTF-16 units. */
export async function splitInWindows(
  text: string,
  { most, ...rules }: Splitting,
  ask: (job: TextJob) => Promise<TextAnswer>,
): Promise<Uint32Array> {
  const ranges: number[] = [];
  let state: WindowState = { ...MARKDOWN_START, covered: 0 };
  let start = 0;
  let length = PIECE_CHARACTERS;
  do {
    const isLast = start + length >= text.length;
    const part = text.slice(start, start + length);
    const answer = await ask({ type: "split", ...rules, text: part, isLast, state });
    if (answer.type !== "split") throw new SheafError("internal", `the tokenizer answered ${answer.type}`);
    for (const offset of answer.ranges) ranges.push(start + offset);
    ({ state } = answer);
    start += answer.next;
    length = answer.next === 0 ? length * 2 : PIECE_CHARACTERS;
  } while (start < text.length && ranges.length < 2 * most);
  return Uint32Array.from(ranges.slice(0, 2 * most));
}

/** What servers say to an embed node. Everything is a plain message; what cannot cross is put back by the caller. */
import { packInTurns } from "@sheaf/process";
import type { CancelSignal, ErrorMessage } from "@sheaf/protocol";
import type { EmbedRequest, SplitRequest } from "../embedder.ts";

/** By method, what its arguments are. Nothing else can be called. */
export interface EmbedCalls {
  readonly models: readonly [];
  readonly identity: readonly [model: string];
  readonly dense: readonly [request: EmbedRequest, caller: EmbedCaller];
  readonly sparse: readonly [request: EmbedRequest, caller: EmbedCaller];
  readonly split: readonly [request: SplitRequest, caller: EmbedCaller];
  /** Answers the event `TOKENS_EVENT`: `null`, or why the call is refused. */
  readonly admit: readonly [ticket: number, refusal: ErrorMessage | null];
}

export interface EmbedCaller {
  readonly owner: string;
  /** Number of the call: its tokens are to be told before a model runs. `null`: nobody counts them. */
  readonly ticket: number | null;
}

/** How many tokens the texts of a call have, which then waits for `admit`. */
export const TOKENS_EVENT = "tokens";
export interface CountedTokens {
  readonly ticket: number;
  readonly count: number;
}

/** In messages of a node, instead of the name that only the caller knows for text `i`. */
export const placeholderOf = (index: number): string => `\0${index}\0`;
// oxlint-disable-next-line no-control-regex -- no text of a message has this character
const PLACEHOLDER = /\0(\d+)\0/gu;

export function withNames(message: string, describe: (index: number) => string): string {
  return message.replaceAll(PLACEHOLDER, (_whole, index: string) => describe(Number(index)));
}

/** From here on a message crosses in pieces, with turns for others in between. */
const LONG_CHARACTERS = 256 * 1024;

export function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/** @param size Characters, or numbers of vectors. */
export async function packIfLong(message: object, size: number, signal?: CancelSignal): Promise<void> {
  if (size > LONG_CHARACTERS) await packInTurns(message, signal);
}

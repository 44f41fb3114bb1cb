/**
 * What the text worker is asked and answers. Per-text results lie flat in typed arrays, which cross threads without a
 * copy: entry `i` of `lengths` says how many elements of the flat arrays belong to text `i`.
 */
import type { Truncation } from "@sheaf/protocol";
import type { Bm25Options } from "../embedder.ts";
import type { TokenizerFiles } from "./model-tokenizer.ts";

export type TextJob =
  | {
      readonly type: "encode";
      readonly tokenizer: TokenizerFiles;
      readonly texts: readonly string[];
      readonly maxTokens: number;
      /** `none`: stop at the first text over the limit. */
      readonly truncate: Truncation;
      /** What the texts begin with, and keep where they lose their start. */
      readonly lead: string;
    }
  | { readonly type: "bm25"; readonly texts: readonly string[]; readonly options: Bm25Options }
  | { readonly type: "vocabulary"; readonly tokenizer: TokenizerFiles };

export interface EncodedTexts {
  readonly type: "encode";
  readonly ids: Int32Array;
  readonly lengths: Uint32Array;
  /** Tokens of each text before it was cut. */
  readonly fullCounts: Uint32Array;
}

/** `texts[index]` has `count` tokens, more than the limit; nothing else was done. */
export interface TextOverLimit {
  readonly type: "over_limit";
  readonly index: number;
  readonly count: number;
}

export interface Bm25Texts {
  readonly type: "bm25";
  readonly indices: Uint32Array;
  readonly values: Float32Array;
  readonly tokens: readonly string[];
  readonly lengths: Uint32Array;
  readonly numTokens: number;
}

interface Vocabulary {
  readonly type: "vocabulary";
  readonly pieces: readonly string[];
}

export type TextAnswer = EncodedTexts | TextOverLimit | Bm25Texts | Vocabulary;

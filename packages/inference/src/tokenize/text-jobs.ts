/**
 * What the text worker is asked and answers. Per-text results lie flat in typed arrays, which cross threads without a
 * copy: entry `i` of `lengths` says how many elements of the flat arrays belong to text `i`.
 */
import type { Truncation } from "@sheaf/protocol";
import type { TermCounts } from "../bm25/bm25-encoder.ts";
import type { ChunkRules, SplitWindow, WindowState } from "../chunk/split-window.ts";
import type { Bm25Options } from "../embedder.ts";
import type { TokenizerFiles } from "./model-tokenizer.ts";

export type TextJob =
  | {
      readonly type: "encode";
      readonly tokenizer: TokenizerFiles;
      readonly texts: readonly string[];
      readonly maxTokens: number;
      /** `none`: texts over the limit are told instead. */
      readonly truncate: Truncation;
      /** What the texts begin with, and keep where they lose their start. */
      readonly lead: string;
    }
  | { readonly type: "bm25"; readonly texts: readonly string[]; readonly options: Bm25Options }
  | EncodePart
  | Bm25Part
  | FindTerms
  | FindTermsPart
  | SplitText
  | { readonly type: "vocabulary"; readonly tokenizer: TokenizerFiles };

/** The chunks that a window of a text begins with. */
export interface SplitText extends ChunkRules {
  readonly type: "split";
  readonly tokenizer: TokenizerFiles;
  readonly text: string;
  readonly isLast: boolean;
  readonly state: WindowState;
  /** What the model reads before each chunk, which counts with it. */
  readonly lead: string;
}

/**
 * A part of a text that is too long for one turn, from a border on (text-borders.ts). Where `before` is given, the part
 * is the last one, and the answer that of the whole text.
 */
export interface EncodePart {
  readonly type: "encode_part";
  readonly tokenizer: TokenizerFiles;
  readonly text: string;
  /** Ids of the parts before. */
  readonly before: Int32Array | null;
  readonly maxTokens: number;
  readonly truncate: Truncation;
  readonly lead: string;
}

export interface Bm25Part {
  readonly type: "bm25_part";
  readonly text: string;
  readonly before: readonly TermCounts[] | null;
  readonly options: Bm25Options;
}

/** Where words of texts are one of the terms, as `Bm25Encoder.find` says it. */
export interface FindTerms {
  readonly type: "find_terms";
  readonly texts: readonly string[];
  readonly terms: Uint32Array;
  readonly options: Bm25Options;
  /** Of each text. */
  readonly limit: number;
}

/** The same in a part of one text. */
export interface FindTermsPart extends Omit<FindTerms, "type" | "texts"> {
  readonly type: "find_terms_part";
  readonly text: string;
  readonly isLast: boolean;
}

/** Of a part that is not the last, up to its last border. */
export interface PartOfIds {
  readonly type: "part_of_ids";
  readonly ids: Int32Array;
  /** Characters; 0: there is no border in the part, which is to come again with more of the text. */
  readonly consumed: number;
}

/** As `PartOfIds`. */
export interface PartOfTerms {
  readonly type: "part_of_terms";
  readonly terms: TermCounts;
  readonly consumed: number;
}

/** As `PartOfIds`; of the last part all of it. */
export interface PartOfPlaces {
  readonly type: "part_of_places";
  /** Relative to the part. */
  readonly places: Uint32Array;
  readonly consumed: number;
}

export interface FoundTerms {
  readonly type: "find_terms";
  /** Start and end of each word. */
  readonly places: Uint32Array;
  readonly lengths: Uint32Array;
}

export interface EncodedTexts {
  readonly type: "encode";
  readonly ids: Int32Array;
  readonly lengths: Uint32Array;
  /** Tokens of each text before it was cut. */
  readonly fullCounts: Uint32Array;
}

/** Texts that have more tokens than the limit. Of the others nothing is told. */
export interface TextsOverLimit {
  readonly type: "over_limit";
  readonly indexes: Uint32Array;
  /** Tokens of each of them. */
  readonly counts: Uint32Array;
}

export interface Bm25Texts {
  readonly type: "bm25";
  readonly indices: Uint32Array;
  readonly values: Float32Array;
  readonly tokens: readonly string[];
  readonly lengths: Uint32Array;
  /** Words of each text that count. */
  readonly counts: Uint32Array;
}

interface Vocabulary {
  readonly type: "vocabulary";
  readonly pieces: readonly string[];
}

export type TextAnswer =
  | EncodedTexts
  | TextsOverLimit
  | Bm25Texts
  | PartOfIds
  | PartOfTerms
  | FoundTerms
  | PartOfPlaces
  | (SplitWindow & { readonly type: "split" })
  | Vocabulary;

/**
 * A model's own tokenizer. Counts are exact: what a text would have without any limit, special tokens included. A cut
 * happens before the special tokens are added, so a cut text still begins and ends as the model was taught (Qwen pools over its
 * last token). Truncation and padding in tokenizer.json are somebody's inference settings, not the model's: ignored.
 */
import { Tokenizer } from "@huggingface/tokenizers";
import { SheafError } from "@sheaf/protocol";
import { readJsonObject } from "../models/read-json-object.ts";
import { useLinearNormalization } from "./linear-normalization.ts";
import { useExactCharsmap } from "./precompiled-normalizer.ts";
import { type BorderFinder, borderFinder } from "./text-borders.ts";
import { useBoundedWordPiece } from "./word-piece.ts";

export interface TokenizerFiles {
  readonly tokenizerJson: string;
  /** Absent in some repositories. */
  readonly tokenizerConfigJson: string | null;
}

export interface EncodedText {
  /** At most the asked limit. */
  readonly ids: Int32Array;
  /** Tokens of the whole text, special ones included. */
  readonly fullCount: number;
}

/** Stands for the text while the special tokens around it are found out. */
const PLACEHOLDER = "sheaf placeholder";

export class ModelTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #prefix: readonly number[];
  readonly #suffix: readonly number[];
  /** Where a text may be given in parts to `idsOf`. */
  readonly findBorder: BorderFinder;

  constructor(tokenizerJson: object, tokenizerConfig: object) {
    this.#tokenizer = new Tokenizer({ ...tokenizerJson, truncation: null, padding: null }, tokenizerConfig);
    useExactCharsmap(this.#tokenizer);
    useLinearNormalization(this.#tokenizer);
    useBoundedWordPiece(this.#tokenizer);
    this.findBorder = borderFinder(tokenizerJson, tokenizerConfig);
    const framed: readonly string[] = this.#tokenizer.post_processor?.([PLACEHOLDER], null, true).tokens ?? [
      PLACEHOLDER,
    ];
    const at = framed.indexOf(PLACEHOLDER);
    if (at < 0) throw new SheafError("internal", "the tokenizer's post-processor drops its text");
    this.#prefix = framed.slice(0, at).map((token) => this.#specialId(token));
    this.#suffix = framed.slice(at + 1).map((token) => this.#specialId(token));
  }

  /** Reads the files; an unreadable one is an error naming it. */
  static read(files: TokenizerFiles): ModelTokenizer {
    const config = files.tokenizerConfigJson === null ? {} : readJsonObject(files.tokenizerConfigJson);
    return new ModelTokenizer(readJsonObject(files.tokenizerJson), config);
  }

  /** Tokens that every text has. */
  get specialCount(): number {
    return this.#prefix.length + this.#suffix.length;
  }

  /** @param lead Given: a text over the limit loses what follows this beginning of it, else its end. */
  encode(text: string, maxTokens: number, lead: string | null = null): EncodedText {
    return this.frame(this.idsOf(text), maxTokens, lead);
  }

  /** `encode` of a text whose ids are known. */
  frame(ids: ArrayLike<number>, maxTokens: number, lead: string | null): EncodedText {
    const fullCount = ids.length + this.specialCount;
    const room = Math.max(0, maxTokens - this.specialCount);
    const body = ids.length > room ? this.#cut(ids, room, lead) : ids;
    const framed = new Int32Array(this.specialCount + body.length);
    framed.set(this.#prefix);
    framed.set(body, this.#prefix.length);
    framed.set(this.#suffix, this.#prefix.length + body.length);
    return { ids: framed, fullCount };
  }

  /** Without the special tokens. */
  idsOf(text: string): readonly number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids;
  }

  /** The piece behind each id. */
  vocabulary(): string[] {
    const pieces: string[] = [];
    for (const [piece, id] of this.#tokenizer.get_vocab()) pieces[id] = piece;
    return Array.from(pieces, (piece) => piece ?? "");
  }

  #cut(ids: ArrayLike<number>, room: number, lead: string | null): ArrayLike<number> {
    const body = Int32Array.from(ids);
    if (lead === null) return body.subarray(0, room);
    const kept = Math.min(lead === "" ? 0 : this.idsOf(lead).length, room);
    body.copyWithin(kept, body.length - (room - kept));
    return body.subarray(0, room);
  }

  #specialId(token: string): number {
    const id = this.#tokenizer.token_to_id(token);
    if (id === undefined) throw new SheafError("internal", `the tokenizer has no id for its own ${token}`);
    return id;
  }
}

/** Does one text job; runs inside the worker. Tokenizers stay loaded for the next job. */
import { Bm25Encoder, type Bm25Text } from "../bm25/bm25-encoder.ts";
import { splitWindow } from "../chunk/split-window.ts";
import type { Bm25Options } from "../embedder.ts";
import { type EncodedText, ModelTokenizer, type TokenizerFiles } from "./model-tokenizer.ts";
import { borderOfWords } from "./text-borders.ts";
import type {
  Bm25Part,
  Bm25Texts,
  EncodePart,
  EncodedTexts,
  FindTerms,
  FindTermsPart,
  FoundTerms,
  PartOfIds,
  PartOfPlaces,
  PartOfTerms,
  SplitText,
  TextAnswer,
  TextJob,
  TextsOverLimit,
} from "./text-jobs.ts";

/** Tokens of a chunk, where a model's instruction leaves no room. */
const LEAST_ROOM = 16;
const LONGEST_WORD = 64;

const tokenizers = new Map<string, ModelTokenizer>();

export function runTextJob(job: TextJob): TextAnswer {
  if (job.type === "encode") return encode(job);
  if (job.type === "encode_part") return encodePart(job);
  if (job.type === "bm25") return bm25(job.texts, job.options);
  if (job.type === "bm25_part") return bm25Part(job);
  if (job.type === "find_terms") return findTerms(job);
  if (job.type === "split") return split(job);
  if (job.type === "find_terms_part") return findTermsPart(job);
  return { type: "vocabulary", pieces: tokenizerOf(job.tokenizer).vocabulary() };
}

/** The buffers of an answer that can move to the other thread. */
export function transferableBuffers(answer: TextAnswer): ArrayBuffer[] {
  return Object.values(answer).flatMap((value: unknown) =>
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer ? [value.buffer] : [],
  );
}

function encode(job: Extract<TextJob, { type: "encode" }>): EncodedTexts | TextsOverLimit {
  const tokenizer = tokenizerOf(job.tokenizer);
  return encodedTexts(
    job.texts.map((text) => tokenizer.encode(text, job.maxTokens, leadOf(job))),
    job,
  );
}

function encodePart(job: EncodePart): EncodedTexts | TextsOverLimit | PartOfIds {
  const tokenizer = tokenizerOf(job.tokenizer);
  if (job.before === null) {
    const consumed = tokenizer.findBorder(job.text);
    const ids = consumed === 0 ? [] : tokenizer.idsOf(job.text.slice(0, consumed));
    return { type: "part_of_ids", ids: Int32Array.from(ids), consumed };
  }
  const rest = tokenizer.idsOf(job.text);
  const ids = new Int32Array(job.before.length + rest.length);
  ids.set(job.before);
  ids.set(rest, job.before.length);
  return encodedTexts([tokenizer.frame(ids, job.maxTokens, leadOf(job))], job);
}

type Limits = Pick<EncodePart, "truncate" | "lead" | "maxTokens">;

function leadOf({ truncate, lead }: Limits): string | null {
  return truncate === "start" ? lead : null;
}

function isRefused({ fullCount }: EncodedText, { truncate, maxTokens }: Limits): boolean {
  return fullCount > maxTokens && truncate === "none";
}

function encodedTexts(encoded: readonly EncodedText[], limits: Limits): EncodedTexts | TextsOverLimit {
  const refused = encoded.flatMap((one, index) => (isRefused(one, limits) ? [index] : []));
  if (refused.length > 0) {
    const counts = Uint32Array.from(refused, (index) => encoded[index]!.fullCount);
    return { type: "over_limit", indexes: Uint32Array.from(refused), counts };
  }
  const lengths = Uint32Array.from(encoded, ({ ids }) => ids.length);
  const flat = new Int32Array(lengths.reduce((sum, length) => sum + length, 0));
  let offset = 0;
  for (const { ids } of encoded) {
    flat.set(ids, offset);
    offset += ids.length;
  }
  const fullCounts = Uint32Array.from(encoded, ({ fullCount }) => fullCount);
  return { type: "encode", ids: flat, lengths, fullCounts };
}

function bm25(texts: readonly string[], options: Bm25Options): Bm25Texts {
  const encoder = new Bm25Encoder(options);
  return bm25Texts(texts.map((text) => encoder.encode(text)));
}

function bm25Part({ text, before, options }: Bm25Part): Bm25Texts | PartOfTerms {
  const encoder = new Bm25Encoder(options);
  if (before !== null) return bm25Texts([encoder.weigh([...before, encoder.count(text)])]);
  const consumed = borderOfWords(text);
  return { type: "part_of_terms", terms: encoder.count(text.slice(0, consumed)), consumed };
}

function findTerms({ texts, terms, options, limit }: FindTerms): FoundTerms {
  const encoder = new Bm25Encoder(options);
  const sought = new Set(terms);
  const found = texts.map((text) => encoder.find(text, sought, limit));
  const lengths = Uint32Array.from(found, ({ length }) => length);
  return { type: "find_terms", places: Uint32Array.from(found.flat()), lengths };
}

function findTermsPart({ text, isLast, terms, options, limit }: FindTermsPart): PartOfPlaces {
  const consumed = isLast ? text.length : borderOfWords(text);
  const places = new Bm25Encoder(options).find(text.slice(0, consumed), new Set(terms), limit);
  return { type: "part_of_places", places: Uint32Array.from(places), consumed };
}

function bm25Texts(encoded: readonly Bm25Text[]): Bm25Texts {
  const lengths = Uint32Array.from(encoded, ({ vector }) => vector.indices.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const indices = new Uint32Array(total);
  const values = new Float32Array(total);
  const tokens: string[] = [];
  let offset = 0;
  for (const { vector } of encoded) {
    indices.set(vector.indices, offset);
    values.set(vector.values, offset);
    for (const token of vector.tokens ?? []) tokens.push(token);
    offset += vector.indices.length;
  }
  const counts = Uint32Array.from(encoded, ({ numTokens }) => numTokens);
  return { type: "bm25", indices, values, tokens, lengths, counts };
}

function split({ tokenizer: files, lead, tokens, overlap, by, ...window }: SplitText): TextAnswer {
  const tokenizer = tokenizerOf(files);
  const count = (text: string): number => tokenizer.idsOf(text).length;
  const room = Math.max(LEAST_ROOM, tokens - tokenizer.specialCount - (lead === "" ? 0 : count(lead)));
  const rules = { by, tokens: room, overlap: Math.min(overlap, room >> 1) };
  const words = new Map<string, number>();
  return { type: "split", ...splitWindow(window, rules, (text) => known(words, text, count)) };
}

/** Most words of a text come again. Longer ones are whole chunks, whose tokens are asked for once. */
function known(words: Map<string, number>, text: string, count: (text: string) => number): number {
  if (text.length > LONGEST_WORD) return count(text);
  let tokens = words.get(text);
  if (tokens === undefined) words.set(text, (tokens = count(text)));
  return tokens;
}

function tokenizerOf(files: TokenizerFiles): ModelTokenizer {
  const known = tokenizers.get(files.tokenizerJson);
  if (known !== undefined) return known;
  const tokenizer = ModelTokenizer.read(files);
  tokenizers.set(files.tokenizerJson, tokenizer);
  return tokenizer;
}

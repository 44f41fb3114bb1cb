/** Does one text job; runs inside the worker. Tokenizers stay loaded for the next job. */
import { Bm25Encoder } from "../bm25/bm25-encoder.ts";
import type { Bm25Options } from "../embedder.ts";
import { ModelTokenizer, type TokenizerFiles } from "./model-tokenizer.ts";
import type { Bm25Texts, EncodedTexts, TextAnswer, TextJob, TextOverLimit } from "./text-jobs.ts";

const tokenizers = new Map<string, ModelTokenizer>();

export function runTextJob(job: TextJob): TextAnswer {
  if (job.type === "encode") return encode(job);
  if (job.type === "bm25") return bm25(job.texts, job.options);
  return { type: "vocabulary", pieces: tokenizerOf(job.tokenizer).vocabulary() };
}

/** The buffers of an answer that can move to the other thread. */
export function transferableBuffers(answer: TextAnswer): ArrayBuffer[] {
  return Object.values(answer).flatMap((value: unknown) =>
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer ? [value.buffer] : [],
  );
}

function encode(job: Extract<TextJob, { type: "encode" }>): EncodedTexts | TextOverLimit {
  const tokenizer = tokenizerOf(job.tokenizer);
  const encoded: Int32Array[] = [];
  const fullCounts = new Uint32Array(job.texts.length);
  for (const [index, text] of job.texts.entries()) {
    const lead = job.truncate === "start" ? job.lead : null;
    const { ids, fullCount } = tokenizer.encode(text, job.maxTokens, lead);
    if (fullCount > job.maxTokens && job.truncate === "none")
      return { type: "over_limit", index, count: fullCount };
    encoded.push(ids);
    fullCounts[index] = fullCount;
  }
  const lengths = Uint32Array.from(encoded, (ids) => ids.length);
  const flat = new Int32Array(lengths.reduce((sum, length) => sum + length, 0));
  let offset = 0;
  for (const ids of encoded) {
    flat.set(ids, offset);
    offset += ids.length;
  }
  return { type: "encode", ids: flat, lengths, fullCounts };
}

function bm25(texts: readonly string[], options: Bm25Options): Bm25Texts {
  const encoder = new Bm25Encoder(options);
  const encoded = texts.map((text) => encoder.encode(text));
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
  const numTokens = encoded.reduce((sum, text) => sum + text.numTokens, 0);
  return { type: "bm25", indices, values, tokens, lengths, numTokens };
}

function tokenizerOf(files: TokenizerFiles): ModelTokenizer {
  const known = tokenizers.get(files.tokenizerJson);
  if (known !== undefined) return known;
  const tokenizer = ModelTokenizer.read(files);
  tokenizers.set(files.tokenizerJson, tokenizer);
  return tokenizer;
}

/**
 * Worker threads that tokenize and compute BM25, so that the loop that serves HTTP never does. A call is cut into
 * pieces of a few thousand characters with one piece under way, a long text into parts (text-parts.ts): owners take
 * turns, and so do the calls of an owner; an aborted call stops at its next piece. A worker that dies costs its pieces a 503 and is replaced at the next call.
 */
import {
  LIMITS,
  type SparseVector,
  SheafError,
  type Truncation,
  TurnQueue,
  abortError,
  throwIfAborted,
  abortable,
} from "@sheaf/protocol";
import { siblingModule, spawnWorker } from "@sheaf/process";
import type { Worker } from "node:worker_threads";
import { type Splitting, splitInWindows } from "../chunk/split-in-windows.ts";
import type { Bm25Options, EmbedOptions } from "../embedder.ts";
import { Admission } from "../scheduler/admission.ts";
import type { TokenizerFiles } from "./model-tokenizer.ts";
import type { FindTerms, TextAnswer, TextJob } from "./text-jobs.ts";
import {
  type LongTextReader,
  PIECE_CHARACTERS,
  bm25InParts,
  encodeInParts,
  findTermsInParts,
  unexpectedAnswer,
} from "./text-parts.ts";
import type { TextReply } from "./text.worker.ts";

const WORKER_MODULE = siblingModule(import.meta.url, "./text.worker");
const PIECE_TEXTS = 256;
/** Texts that one refusal names. */
export const MOST_REFUSED = 100;
/** A worker has its next piece when it is done with one; more would be out of turn. */
const PIECES_OF_WORKER = 2;

export interface TextWorkerPoolOptions {
  /** Threads; each holds its own copy of every tokenizer it has used. */
  readonly workers: number;
  /** Told of errors inside a worker that are nobody's request's fault. */
  readonly onUnexpected: (detail: string) => void;
}

export interface EncodeRequest {
  readonly tokenizer: TokenizerFiles;
  readonly texts: readonly string[];
  readonly maxTokens: number;
  /** `none`: texts over the limit end the call. */
  readonly truncate: Truncation;
  /** What the texts begin with, and keep where they lose their start. */
  readonly lead: string;
  /** The error for the first `MOST_REFUSED` texts over the limit. */
  readonly refuse: (texts: readonly LongText[]) => Error;
}

/** `texts[index]` has `count` tokens. */
export interface LongText {
  readonly index: number;
  readonly count: number;
}

export interface Encoding {
  /** Per text, cut to the limit. */
  readonly ids: readonly Int32Array[];
  /** Indexes of the texts that were cut. */
  readonly cut: readonly number[];
}

export class TextWorkerPool {
  readonly #seats: Seat[];
  readonly #admission: Admission;
  readonly #queue = new TurnQueue<Waiting>();
  #closed = false;

  constructor(options: TextWorkerPoolOptions) {
    this.#seats = Array.from(
      { length: options.workers },
      () => new Seat(options.onUnexpected, () => this.#dispatch()),
    );
    this.#admission = new Admission({
      name: "the tokenizer queue",
      unit: "characters",
      bound: LIMITS.queuedCharacters,
      rate: () => 0,
    });
  }

  async encode(request: EncodeRequest, options: EmbedOptions = {}): Promise<Encoding> {
    const { tokenizer, texts, maxTokens, truncate, lead } = request;
    const ids: Int32Array[] = [];
    const cutTexts: number[] = [];
    const refused: LongText[] = [];
    let first = 0;
    const job = (piece: readonly string[]): TextJob => ({
      type: "encode",
      tokenizer,
      texts: piece,
      maxTokens,
      truncate,
      lead,
    });
    const long: LongTextReader = (text, ask) => encodeInParts(text, request, ask);
    await this.#inPieces(texts, { job, long }, options, (answer, piece) => {
      const before = first;
      first += piece.length;
      if (answer.type === "over_limit") {
        const { indexes, counts } = answer;
        for (const [i, index] of indexes.entries())
          refused.push({ index: before + index, count: counts[i]! });
        if (refused.length >= MOST_REFUSED) throw request.refuse(refused.slice(0, MOST_REFUSED));
        return;
      }
      if (answer.type !== "encode") throw unexpectedAnswer(answer);
      // Nothing more will come of the call.
      if (refused.length > 0) return;
      let offset = 0;
      for (const [index, length] of answer.lengths.entries()) {
        if ((answer.fullCounts[index] as number) > maxTokens) cutTexts.push(ids.length);
        ids.push(answer.ids.subarray(offset, offset + length));
        offset += length;
      }
    });
    if (refused.length > 0) throw request.refuse(refused);
    return { ids, cut: cutTexts };
  }

  /** With the number of words of each text that count. */
  async bm25(
    texts: readonly string[],
    bm25: Bm25Options,
    options: EmbedOptions = {},
  ): Promise<{ vectors: SparseVector[]; counts: number[] }> {
    const vectors: SparseVector[] = [];
    const counts: number[] = [];
    const job = (piece: readonly string[]): TextJob => ({ type: "bm25", texts: piece, options: bm25 });
    const long: LongTextReader = (text, ask) => bm25InParts(text, bm25, ask);
    await this.#inPieces(texts, { job, long }, options, (answer) => {
      if (answer.type !== "bm25") throw unexpectedAnswer(answer);
      counts.push(...answer.counts);
      let offset = 0;
      for (const length of answer.lengths) {
        const end = offset + length;
        vectors.push({
          indices: answer.indices.slice(offset, end),
          values: answer.values.slice(offset, end),
          tokens: answer.tokens.slice(offset, end),
        });
        offset = end;
      }
    });
    return { vectors, counts };
  }

  /** By text, where its first `limit` words are that are one of the terms: start and end in UTF-16 units. */
  async findTerms(
    texts: readonly string[],
    sought: Omit<FindTerms, "type" | "texts">,
    options: EmbedOptions = {},
  ): Promise<readonly Uint32Array[]> {
    const found: Uint32Array[] = [];
    const job = (piece: readonly string[]): TextJob => ({ type: "find_terms", texts: piece, ...sought });
    const long: LongTextReader = (text, ask) => findTermsInParts(text, sought, ask);
    await this.#inPieces(texts, { job, long }, options, (answer) => {
      if (answer.type !== "find_terms") throw unexpectedAnswer(answer);
      let offset = 0;
      for (const length of answer.lengths) found.push(answer.places.subarray(offset, (offset += length)));
    });
    return found;
  }

  /** Start and end of each chunk, in UTF-16 units. */
  async split(text: string, splitting: Splitting, options: EmbedOptions = {}): Promise<Uint32Array> {
    const { signal, owner = "" } = options;
    throwIfAborted(signal);
    this.#admission.enter(text.length + 1, owner);
    try {
      return await splitInWindows(text, splitting, (job) => abortable(this.#ask(job, options), signal));
    } finally {
      this.#admission.leave(text.length + 1, owner);
    }
  }

  /** The piece behind each token id. */
  async vocabulary(tokenizer: TokenizerFiles): Promise<readonly string[]> {
    const answer = await this.#ask({ type: "vocabulary", tokenizer }, {});
    if (answer.type !== "vocabulary") throw unexpectedAnswer(answer);
    return answer.pieces;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#queue.clear()) waiting.reject(closedError());
    await Promise.all(this.#seats.map((seat) => seat.close()));
  }

  async #inPieces(
    texts: readonly string[],
    { job, long }: { job: (piece: readonly string[]) => TextJob; long: LongTextReader },
    options: EmbedOptions,
    take: (answer: TextAnswer, piece: readonly string[]) => void,
  ): Promise<void> {
    const { signal, owner = "" } = options;
    const ask = (asked: TextJob): Promise<TextAnswer> => abortable(this.#ask(asked, options), signal);
    throwIfAborted(signal);
    // A text without characters takes its turn too.
    const cost = texts.reduce((sum, text) => sum + text.length + 1, 0);
    this.#admission.enter(cost, owner);
    try {
      for (const piece of pieces(texts)) {
        const [first = ""] = piece;
        take(await (first.length > PIECE_CHARACTERS ? long(first, ask) : ask(job(piece))), piece);
      }
    } finally {
      this.#admission.leave(cost, owner);
    }
  }

  #ask(job: TextJob, { owner = "", signal }: EmbedOptions): Promise<TextAnswer> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#queue.push(owner, { job, signal, resolve, reject });
      this.#dispatch();
    });
  }

  #dispatch(): void {
    while (this.#queue.size > 0) {
      const seat = this.#seats.reduce((least, other) => (other.waiting < least.waiting ? other : least));
      if (seat.waiting >= PIECES_OF_WORKER) return;
      const waiting = this.#queue.shift();
      if (waiting?.signal?.aborted === true) waiting.reject(abortError(waiting.signal));
      else if (waiting !== undefined) seat.ask(waiting);
    }
  }
}

interface Waiting {
  readonly job: TextJob;
  readonly signal: EmbedOptions["signal"];
  readonly resolve: (answer: TextAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** One worker's place: started at its first job, and again after it died. */
class Seat {
  readonly #onUnexpected: (detail: string) => void;
  /** Told after every piece. */
  readonly #onFree: () => void;
  #worker: Worker | null = null;
  #waiting: Waiting[] = [];

  constructor(onUnexpected: (detail: string) => void, onFree: () => void) {
    this.#onUnexpected = onUnexpected;
    this.#onFree = onFree;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  ask(waiting: Waiting): void {
    this.#worker ??= this.#start();
    this.#waiting.push(waiting);
    this.#worker.postMessage(waiting.job, []);
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = spawnWorker(WORKER_MODULE, null);
    worker.on("message", (reply: TextReply) => {
      const waiting = this.#waiting.shift();
      this.#onFree();
      if (reply.type === "answer") {
        waiting?.resolve(reply.answer);
        return;
      }
      if (reply.error.code === "internal") this.#onUnexpected(reply.detail);
      waiting?.reject(SheafError.fromMessage(reply.error));
    });
    worker.on("error", (error) => this.#onUnexpected(String(error)));
    worker.on("exit", () => {
      this.#worker = null;
      const left = this.#waiting.splice(0);
      for (const waiting of left) {
        waiting.reject(
          new SheafError("unavailable", "the tokenizer is restarting; try again", { retryAfterSeconds: 1 }),
        );
      }
      this.#onFree();
    });
    return worker;
  }
}

function* pieces(texts: readonly string[]): Generator<readonly string[]> {
  let piece: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (piece.length > 0 && (characters + text.length > PIECE_CHARACTERS || piece.length === PIECE_TEXTS)) {
      yield piece;
      piece = [];
      characters = 0;
    }
    piece.push(text);
    characters += text.length;
  }
  if (piece.length > 0) yield piece;
}

function closedError(): Error {
  return new SheafError("unavailable", "the embedder is shutting down");
}

/**
 * Reads a body from its connection, within bounds: its size, before and after it is inflated, and the bytes of bodies that its tenant
 * and the whole server may have in progress. Bytes are charged as they come, whatever a header claims. Where there is no
 * room, the connection is not read for a while; only then the body is refused.
 */
import type { IncomingHttpHeaders } from "node:http";
import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import { type ByteBudget, type CancelSignal, SheafError, abortError } from "@sheaf/protocol";
import type { RequestHold } from "../request/request-hold.ts";
import type { BodyTurns } from "./body-turns.ts";
import { ChunkJoiner } from "./chunk-joiner.ts";

/** A body of more bytes is parsed by another thread. Parsing this many takes up to some 10 ms. */
export const LARGE_BODY_BYTES = 256 * 1024;
/** How long a body waits for room. */
const MOST_WAIT_MS = 10_000;
const RETRY_MS = 20;

/** In one buffer, in pieces where it is large, or not at all: a route that takes no body does not mind. */
export type ReceivedBody = Buffer | LargeBody | UnreadableBody;

/** A body in a coding that is not known, or broken. */
export class UnreadableBody {
  readonly reason: SheafError;

  constructor(reason: SheafError) {
    this.reason = reason;
  }
}

export class LargeBody {
  readonly pieces: readonly ArrayBuffer[];

  constructor(pieces: readonly ArrayBuffer[]) {
    this.pieces = pieces;
  }
}

export interface Reception {
  readonly headers: Pick<IncomingHttpHeaders, "content-length" | "content-encoding">;
  readonly budget: ByteBudget;
  readonly turns: BodyTurns;
  /** Who is charged. */
  readonly owner: string;
  readonly mostBytes: number;
  /** To be released when the request is over. */
  readonly hold: RequestHold;
  /** Nobody wants the body any more. */
  readonly signal: CancelSignal;
  /** What the body comes over. */
  readonly connection?: BodyConnection | undefined;
  /** How long to wait for room. Default 10 s. */
  readonly waitMs?: number;
}

export interface BodyConnection {
  /** Has nothing more read until `receiveBody`: what was read of a body that nobody takes is kept in the pieces it came in. */
  holdBody(): void;
  receiveBody(): void;
}

type Done = (error: Error | null, body?: ReceivedBody) => void;

/** Thrown for a body over `mostBytes`; each surface has a status of its own for it. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";

  constructor(mostBytes: number) {
    super(
      `the request body is larger than ${mostBytes} bytes, the most that the server accepts; send it in parts`,
    );
  }
}

/** Calls `done` once, with 413, 429 or 503 where the body is refused, and with the connection's error where it ends. */
export function receiveBody(payload: Readable, reception: Reception, done: Done): void {
  const { headers, mostBytes } = reception;
  if (Number(headers["content-length"]) > mostBytes) {
    done(new BodyTooLarge(mostBytes));
    return;
  }
  const encoding = headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") {
    new Receiver(payload, reception, done).begin(() => payload.resume());
  } else if (/^(?:x-)?gzip$/iu.test(encoding)) receiveInflated(payload, reception, done);
  else {
    payload.resume();
    const message = "Content-Encoding: must be gzip, or absent";
    done(null, new UnreadableBody(new SheafError("unsupported_media_type", message)));
  }
}

function receiveInflated(payload: Readable, reception: Reception, done: Done): void {
  const gunzip = createGunzip();
  const onError = (error: Error): void => void gunzip.destroy(error);
  payload.on("error", onError);
  // What inflates to nothing has to end, too.
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > reception.mostBytes) gunzip.destroy(new BodyTooLarge(reception.mostBytes));
  };
  const receiver = new Receiver(gunzip, reception, done);
  const joined = joinedChunks(() => receiver.awaitTurn());
  payload.on("data", count);
  payload.pipe(joined).pipe(gunzip);
  receiver.begin(() => {
    payload.off("data", count);
    payload.unpipe(joined);
    joined.destroy();
    gunzip.destroy();
    payload.resume();
  });
}

/** For one write of the decoder takes a thread, however short it is. */
function joinedChunks(onShort: () => void): Transform {
  const joiner = new ChunkJoiner();
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      const joined = joiner.add(chunk);
      if (joiner.areShort) onShort();
      done(null, joined);
    },
    flush: (done) => done(null, joiner.take()),
  });
}

class Receiver {
  readonly #stream: Readable;
  readonly #reception: Reception;
  readonly #done: Done;
  #length = 0;
  #isPaused = false;
  #hasEnded = false;
  #chunks: Buffer[] = [];
  readonly #joiner = new ChunkJoiner();
  /** Once it is large; joined once more, where the chunks were short. */
  readonly #pieces: ArrayBuffer[] = [];
  readonly #pieceJoiner = new ChunkJoiner();
  #timer: NodeJS.Timeout | undefined;
  #stop: () => void = () => {};

  constructor(stream: Readable, reception: Reception, done: Done) {
    this.#stream = stream;
    this.#reception = reception;
    this.#done = done;
  }

  /** @param stop Has what still comes thrown away. */
  begin(stop: () => void): void {
    this.#stop = stop;
    this.#stream.on("data", this.#onData);
    this.#stream.on("end", this.#onEnd);
    this.#stream.on("error", this.#onError);
    this.#reception.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#length += chunk.length;
    if (this.#length > this.#reception.mostBytes) this.#finish(new BodyTooLarge(this.#reception.mostBytes));
    else if (this.#charge(chunk) === null) this.#join(chunk);
    else this.#waitForRoom(chunk, performance.now() + (this.#reception.waitMs ?? MOST_WAIT_MS));
  };

  readonly #onEnd = (): void => {
    // A stream that is paused ends all the same, where its last chunk is the one that waits.
    this.#hasEnded = true;
    if (!this.#isPaused) this.#whole();
  };

  #whole(): void {
    this.#keep(this.#joiner.take());
    // With these it may have become large.
    if (this.#isPaused) return;
    if (this.#length > LARGE_BODY_BYTES) {
      this.#pieces.push(memoryOf(this.#pieceJoiner.take()));
      this.#finish(null, new LargeBody(this.#pieces));
    } else {
      const [first] = this.#chunks;
      this.#finish(
        null,
        first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks),
      );
    }
  }

  readonly #onError = (error: Error): void => {
    if (!("code" in error) || !String(error.code).startsWith("Z_")) this.#finish(error);
    else {
      const message = "the request body is not valid gzip";
      const reason = new SheafError("invalid_argument", message, { cause: error });
      this.#stop();
      this.#finish(null, new UnreadableBody(reason));
    }
  };

  readonly #onAbort = (): void => this.#finish(abortError(this.#reception.signal));

  /** `null`: there was room. */
  #charge(chunk: Buffer): unknown {
    try {
      const { budget, owner, hold } = this.#reception;
      if (hold.lease === null) hold.lease = budget.charge(owner, chunk.length);
      else hold.lease.grow(chunk.length);
      return null;
    } catch (refusal) {
      return refusal;
    }
  }

  /** Nothing comes meanwhile. */
  #waitForRoom(chunk: Buffer, until: number): void {
    this.#pause();
    this.#timer = setTimeout(() => {
      const refusal = this.#charge(chunk);
      if (refusal === null) {
        this.#isPaused = false;
        this.#join(chunk);
        this.#goOn();
      } else if (performance.now() < until) this.#waitForRoom(chunk, until);
      else this.#finish(refusal as Error);
    }, RETRY_MS);
  }

  #pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
    this.#reception.connection?.holdBody();
  }

  /** Unless there is something else to wait for. */
  #goOn(): void {
    if (this.#isPaused) return;
    if (this.#hasEnded) this.#whole();
    else {
      this.#stream.resume();
      this.#reception.connection?.receiveBody();
    }
  }

  #join(chunk: Buffer): void {
    const joined = this.#joiner.add(chunk);
    if (joined === null) return;
    this.#keep(joined);
    if (this.#joiner.areShort) this.awaitTurn();
  }

  #keep(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.#length <= LARGE_BODY_BYTES) this.#chunks.push(chunk);
    else this.#keepLarge(chunk);
  }

  #keepLarge(chunk: Buffer): void {
    for (const part of [...this.#chunks.splice(0), chunk]) {
      const piece = this.#pieceJoiner.add(part);
      if (piece !== null) this.#pieces.push(memoryOf(piece));
    }
    this.awaitTurn();
  }

  /** It is large, or takes long to read: those of its tenant that came before it may have to be answered first. */
  awaitTurn(): void {
    const { hold, turns, owner, headers, mostBytes, waitMs = MOST_WAIT_MS } = this.#reception;
    if (hold.turn !== null) return;
    const claimed =
      headers["content-encoding"] === undefined ? Number(headers["content-length"]) : Number.NaN;
    let hasBegun = false;
    hold.turn = turns.ask(owner, Number.isNaN(claimed) ? mostBytes : claimed, () => {
      hasBegun = true;
      if (!this.#isPaused) return;
      clearTimeout(this.#timer);
      this.#isPaused = false;
      this.#goOn();
    });
    if (hasBegun) return;
    this.#pause();
    this.#timer = setTimeout(() => {
      hold.release();
      this.#finish(
        new SheafError(
          "rate_limited",
          "other request bodies of this tenant that are large, or sent in many short chunks, are in progress; try again later",
        ),
      );
    }, waitMs);
  }

  #finish(error: Error | null, body?: ReceivedBody): void {
    clearTimeout(this.#timer);
    this.#stream.off("data", this.#onData);
    this.#stream.off("end", this.#onEnd);
    this.#stream.off("error", this.#onError);
    this.#reception.signal.removeEventListener("abort", this.#onAbort);
    // From here on its errors are nobody's.
    this.#stream.on("error", () => {});
    this.#reception.connection?.receiveBody();
    if (error !== null) this.#stop();
    this.#done(error, body);
  }
}

/**
 * Of these bytes alone. Most chunks have some of their own: it goes to the thread that parses without a copy, and leaves no
 * garbage here, of which V8 collects each 16 MiB.
 */
function memoryOf(chunk: Buffer): ArrayBuffer {
  const { buffer, byteLength } = chunk;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) return buffer;
  return new Uint8Array(chunk).buffer;
}

/**
 * Hands what a socket delivers to Node's parser in portions, by the time they take. Node itself parses all that one read
 * brings, 64 KiB of each connection in one turn of the event loop: ten thousand chunks of one byte or a thousand requests,
 * and that of hundreds of connections.
 */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { beginSlice, isSliceOver, nextSlice } from "@sheaf/process";

/** A piece of so many bytes is parsed at once: nearly every request is one. */
const SMALL_BYTES = 8 * 1024;
const FIRST_PORTION = 16 * 1024;
const LEAST_PORTION = 1024;
const MOST_PORTION = 64 * 1024;
/** A whole portion that takes longer is followed by a shorter one, and what takes less by a longer one. */
const LONG_MS = 1;
const SHORT_MS = 0.25;

type Parse = (piece: Buffer) => void;
/** Why nothing is read: as many requests as may are worked on, or there is no room for the body that comes. */
type Holder = "requests" | "body";

export class PacedReader {
  readonly #socket: Socket;
  readonly #owner: string;
  readonly #parse: Parse;
  #portion = FIRST_PORTION;
  readonly #holders = new Set<Holder>();
  #isWaiting = false;

  /**
   * @param socket Of a server of `node:http` that has just accepted it.
   * @param owner Whose slices of the event loop long reads take.
   */
  constructor(socket: Socket, owner: string) {
    const [parse] = socket.listeners("data");
    assert(parse !== undefined, "the server listens to its socket");
    this.#socket = socket;
    this.#owner = owner;
    this.#parse = parse as Parse;
    socket.off("data", this.#parse);
    socket.on("data", (piece) => this.#read(piece));
    // Node has the socket read on as soon as a body is wanted.
    socket.on("resume", () => {
      if (this.#isStopped()) socket.pause();
    });
  }

  /** Nothing more is parsed until `release`. */
  hold(holder: Holder): void {
    this.#holders.add(holder);
    this.#socket.pause();
  }

  release(holder: Holder): void {
    if (this.#holders.delete(holder)) this.#socket.resume();
  }

  /** What comes takes so long to parse, such as chunks of one byte, that a portion of usual size is too long. */
  get isCostly(): boolean {
    return this.#portion < FIRST_PORTION;
  }

  #read(piece: Buffer): void {
    for (let from = 0; from < piece.length && !this.#socket.destroyed;) {
      if (!this.#mayParse(piece.length - from)) {
        this.#socket.pause();
        // There it stays ahead of what follows, the end of the stream included.
        this.#socket.unshift(piece.subarray(from));
        return;
      }
      const portion = piece.subarray(from, from + this.#portion);
      from += portion.length;
      this.#parsePortion(portion);
    }
  }

  #mayParse(bytes: number): boolean {
    if (this.#isStopped() || this.#socket.isPaused()) return false;
    if (bytes <= SMALL_BYTES && !this.isCostly) return true;
    if (isSliceOver()) {
      this.#wait();
      return false;
    }
    beginSlice();
    return true;
  }

  #parsePortion(portion: Buffer): void {
    const startedAt = performance.now();
    this.#parse.call(this.#socket, portion);
    const took = performance.now() - startedAt;
    if (took > LONG_MS && portion.length === this.#portion)
      this.#portion = Math.max(LEAST_PORTION, this.#portion / 2);
    else if (took < SHORT_MS) this.#portion = Math.min(MOST_PORTION, this.#portion * 2);
  }

  #wait(): void {
    this.#isWaiting = true;
    void nextSlice(this.#owner).then(() => {
      this.#isWaiting = false;
      this.#socket.resume();
    });
  }

  #isStopped(): boolean {
    // Node pauses its parser, too, where answers wait to be read, and marks that so.
    return this.#holders.size > 0 || this.#isWaiting || Reflect.get(this.#socket, "_paused") === true;
  }
}

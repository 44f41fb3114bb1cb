/**
 * Messages over a socket: each frame is a u32 little-endian byte length, then one message of message-form.ts. Large bytes go
 * beside the messages as parts, in small frames with turns in between, so that other messages need not wait for them: the
 * highest bit of the length is set, and behind it stand the part's number and its whole length, as u32 each. A later message
 * names its parts by their numbers. A part of length 0 is one that its sender has given up.
 *
 * What one owner has the other side read, and it has not read yet, stands before no message of another owner: once the
 * socket holds some bytes, messages that have owners wait here, and the owners take turns.
 */
import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import type { Duplex } from "node:stream";
import { type CancelSignal, TurnQueue, abortError } from "@sheaf/protocol";
import { MessageDecoder } from "./message-decoder.ts";
import { MessageEncoder } from "./message-encoder.ts";

/** Larger frames mean a broken peer; buffers end near 4 GiB. */
const MAX_FRAME_BYTES = 2 ** 31 - 1;
const HEADER_BYTES = 4;
const PART_BIT = 0x80_00_00_00;
/** Number and length of a part. */
const PART_HEADER_BYTES = 8;
/** Of a part, in one frame. */
const PIECE_BYTES = 256 * 1024;
/** What the socket holds when messages begin to wait. More than the mark from which it tells that it is empty again. */
const HELD_BYTES = 128 * 1024;
/** What a socket of our own is read into: as much as Node allocates, and gives back, for each read of another. */
const READ_BYTES = 64 * 1024;

interface Part {
  readonly bytes: Buffer;
  filled: number;
}

export class Channel {
  readonly #socket: Duplex;
  readonly #maxBytes: number;
  readonly #maxPartBytes: number;
  readonly #encoder = new MessageEncoder();
  readonly #decoder = new MessageDecoder();
  /** Frames, by owner. */
  readonly #waiting = new TurnQueue<Buffer>();
  #onMessage: (message: unknown) => void = () => {};
  #onClose: () => void = () => {};
  #closed = false;
  #isCorked = false;
  #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #body: Buffer | null = null;
  #bodyFilled = 0;
  /** The frame at hand is a piece of a part, and no message: so many bytes of it follow its header. */
  #pieceBytes: number | null = null;
  /** What the piece at hand belongs to, once its header is read. */
  #part: Part | null = null;
  readonly #parts = new Map<number, Part>();
  /** Of all of them, once they are whole. */
  #partBytes = 0;
  #nextPart = 0;
  /** Who waits until the socket takes more. */
  #onDrained: (() => void)[] = [];

  /** @param maxBytes Of a message that comes, and of all parts together that no message has named: more closes the channel. */
  constructor(socket: Duplex, maxBytes = Infinity) {
    this.#socket = socket;
    this.#maxBytes = Math.min(maxBytes, MAX_FRAME_BYTES);
    this.#maxPartBytes = maxBytes;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    // The close event follows and does the work; without a listener an error would end the process.
    socket.on("error", () => socket.destroy());
    socket.on("drain", () => {
      this.#sendWaiting();
      this.#wake();
    });
    socket.on("close", () => {
      this.#closed = true;
      this.#waiting.clear();
      this.#wake();
      this.#onClose();
    });
  }

  /** Over an open socket, which nobody else reads. */
  static overDescriptor(fd: number): Channel {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const options: SocketConstructorOpts & ConnectOpts = {
      fd,
      readable: true,
      writable: true,
      onread: {
        buffer,
        callback: (bytes) => {
          channel.#receive(buffer.subarray(0, bytes));
          return true;
        },
      },
    };
    const channel = new Channel(new Socket(options));
    return channel;
  }

  get closed(): boolean {
    return this.#closed;
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#onMessage = listener;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /**
   * Sends one frame at once, as far as the socket takes it: the other side has it even if this process ends next. After the
   * socket has closed it does nothing. Throws, and sends nothing, for a value that cannot be cloned (a function, a promise) or
   * that is larger than a frame.
   */
  send(message: unknown): void {
    if (this.#closed) return;
    this.#socket.write(this.#frameOf(message));
    this.#uncork();
  }

  /**
   * As `send`, but that it may come later: with what else is sent in this turn, and what it sends for an owner than what is sent
   * for others, or for none.
   */
  sendInTurn(message: unknown, owner: string): void {
    if (this.#closed) return;
    const frame = this.#frameOf(message);
    if (this.#waiting.size === 0 && this.#hasRoom) this.#write(frame);
    else this.#waiting.push(owner, frame);
  }

  get #hasRoom(): boolean {
    return this.#socket.writableLength < HELD_BYTES;
  }

  #sendWaiting(): void {
    while (this.#hasRoom) {
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      this.#write(frame);
    }
  }

  /** With one call of the kernel for a turn: answers to calls that shared a commit, say. `false`: the socket holds enough. */
  #write(bytes: Uint8Array): boolean {
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(this.#uncork);
    }
    return this.#socket.write(bytes);
  }

  readonly #uncork = (): void => {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#socket.uncork();
  };

  #frameOf(message: unknown): Buffer {
    const frame = this.#encoder.encode(message, HEADER_BYTES, MAX_FRAME_BYTES);
    frame.writeUInt32LE(frame.length - HEADER_BYTES);
    return frame;
  }

  /**
   * Sends bytes for a later message, in frames of which other messages may come in between. Resolves to the numbers of the
   * parts, once all is queued. After an abort the other side forgets them, and this throws.
   */
  async sendParts(parts: readonly Uint8Array[], signal?: CancelSignal): Promise<number[]> {
    const numbers: number[] = [];
    try {
      for (const part of parts) {
        numbers.push(this.#nextPart);
        await this.#sendPart(this.#nextPart, part, signal);
      }
      return numbers;
    } catch (error) {
      this.dropParts(numbers);
      throw error;
    }
  }

  async #sendPart(number: number, bytes: Uint8Array, signal: CancelSignal | undefined): Promise<void> {
    this.#nextPart = (number + 1) >>> 0;
    for (let from = 0; from < bytes.length && !this.#closed; from += PIECE_BYTES) {
      if (signal?.aborted === true) throw abortError(signal);
      const piece = bytes.subarray(from, from + PIECE_BYTES);
      this.#write(pieceHeader(number, bytes.length, piece.length));
      if (!this.#write(piece)) await this.#drained();
    }
  }

  /** Has the other side forget parts that no message will name. */
  dropParts(numbers: readonly number[]): void {
    if (this.#closed) return;
    for (const number of numbers) this.#write(pieceHeader(number, 0, 0));
  }

  /** A part that has come whole, once. */
  takePart(number: number): Uint8Array {
    const part = this.#parts.get(number);
    if (part === undefined || part.filled !== part.bytes.length) {
      throw new RangeError(`part ${number} of a message has not come`);
    }
    this.#forget(number);
    return part.bytes;
  }

  /** Resolves when the socket takes more, or has closed. */
  #drained(): Promise<void> {
    return new Promise((resolve) => void this.#onDrained.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#onDrained.splice(0)) resolve();
  }

  /** Closes once the other side has taken all that was sent, and resolves then. */
  async end(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#closed) await this.#drained();
    if (this.#closed) return;
    this.#uncork();
    await new Promise<void>((resolve) => {
      this.#socket.once("close", resolve);
      this.#socket.end();
    });
  }

  /** What was sent leaves first, as far as the socket takes it. */
  close(): void {
    this.#uncork();
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    let position = 0;
    // A listener may close the channel; what follows in the chunk is then nobody's.
    while (position < chunk.length && !this.#socket.destroyed) {
      if (this.#part !== null) position = this.#readPiece(this.#part, chunk, position);
      else if (this.#body !== null) position = this.#readBody(this.#body, chunk, position);
      else position = this.#readHeader(chunk, position);
    }
  }

  #readHeader(chunk: Buffer, position: number): number {
    if (this.#headerFilled === 0 && chunk.length - position >= HEADER_BYTES) {
      return this.#begin(chunk.readUInt32LE(position)) ? position + HEADER_BYTES : chunk.length;
    }
    const taken = Math.min(HEADER_BYTES - this.#headerFilled, chunk.length - position);
    chunk.copy(this.#header, this.#headerFilled, position, position + taken);
    this.#headerFilled += taken;
    if (this.#headerFilled < HEADER_BYTES) return position + taken;
    this.#headerFilled = 0;
    return this.#begin(this.#header.readUInt32LE()) ? position + taken : chunk.length;
  }

  /** `false`: nobody sends messages of that length, and the channel is closed. */
  #begin(header: number): boolean {
    const isPiece = header >= PART_BIT;
    const length = isPiece ? header - PART_BIT : header;
    const isSound = isPiece
      ? length >= PART_HEADER_BYTES && length <= PART_HEADER_BYTES + PIECE_BYTES
      : length > 0 && length <= this.#maxBytes;
    if (!isSound) {
      this.#socket.destroy();
      return false;
    }
    this.#pieceBytes = isPiece ? length - PART_HEADER_BYTES : null;
    // A buffer of its own, or from Node's pool at a multiple of 8: typed arrays of the message are views into it.
    this.#body = Buffer.allocUnsafe(isPiece ? PART_HEADER_BYTES : length);
    this.#bodyFilled = 0;
    return true;
  }

  #readBody(body: Buffer, chunk: Buffer, position: number): number {
    const taken = Math.min(body.length - this.#bodyFilled, chunk.length - position);
    chunk.copy(body, this.#bodyFilled, position, position + taken);
    this.#bodyFilled += taken;
    if (this.#bodyFilled === body.length) {
      this.#body = null;
      if (this.#pieceBytes === null) this.#deliver(body);
      else this.#beginPiece(body.readUInt32LE(0), body.readUInt32LE(4), this.#pieceBytes);
    }
    return position + taken;
  }

  #beginPiece(number: number, length: number, pieceBytes: number): void {
    if (length === 0) {
      this.#forget(number);
      return;
    }
    let part = this.#parts.get(number);
    if (part === undefined) {
      this.#partBytes += length;
      if (this.#partBytes > this.#maxPartBytes) {
        this.#socket.destroy();
        return;
      }
      // Memory of its own, for typed arrays of the message lie in it and outlive the others.
      part = { bytes: Buffer.allocUnsafeSlow(length), filled: 0 };
      this.#parts.set(number, part);
    }
    if (part.bytes.length !== length || pieceBytes > length - part.filled) this.#socket.destroy();
    else if (pieceBytes > 0) this.#part = part;
  }

  #forget(number: number): void {
    this.#partBytes -= this.#parts.get(number)?.bytes.length ?? 0;
    this.#parts.delete(number);
  }

  /** To where it will be used: it is not copied again. */
  #readPiece(part: Part, chunk: Buffer, position: number): number {
    const taken = Math.min(this.#pieceBytes!, chunk.length - position);
    chunk.copy(part.bytes, part.filled, position, position + taken);
    part.filled += taken;
    this.#pieceBytes! -= taken;
    if (this.#pieceBytes === 0) this.#part = null;
    return position + taken;
  }

  #deliver(body: Buffer): void {
    let message: unknown;
    try {
      message = this.#decoder.decode(body);
    } catch {
      // Bytes that are no message mean a broken peer, as a bad length does; closing tells both owners.
      this.#socket.destroy();
      return;
    }
    this.#onMessage(message);
  }
}

/** Header of a frame with `piece` bytes of a part of `length`. */
function pieceHeader(number: number, length: number, piece: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES + PART_HEADER_BYTES);
  header.writeUInt32LE(PART_BIT + PART_HEADER_BYTES + piece, 0);
  header.writeUInt32LE(number, HEADER_BYTES);
  header.writeUInt32LE(length, HEADER_BYTES + 4);
  return header;
}

/** Messages over a socket: each frame is a u32 little-endian byte length, then one message of message-form.ts. */
import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import type { Duplex } from "node:stream";
import { MessageDecoder } from "./message-decoder.ts";
import { MessageEncoder } from "./message-encoder.ts";

/** Larger frames mean a broken peer; buffers end near 4 GiB. */
const MAX_FRAME_BYTES = 2 ** 31 - 1;
const HEADER_BYTES = 4;
/** What a socket of our own is read into: as much as Node allocates, and gives back, for each read of another. */
const READ_BYTES = 64 * 1024;

export class Channel {
  readonly #socket: Duplex;
  readonly #encoder = new MessageEncoder();
  readonly #decoder = new MessageDecoder();
  #onMessage: (message: unknown) => void = () => {};
  #onClose: () => void = () => {};
  #closed = false;
  #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #body: Buffer | null = null;
  #bodyFilled = 0;

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    // The close event follows and does the work; without a listener an error would end the process.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#closed = true;
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
   * Queues one frame; after the socket has closed it does nothing. Throws, and sends nothing, for a value that cannot
   * be cloned (a function, a promise) or that is larger than a frame.
   */
  send(message: unknown): void {
    if (this.#closed) return;
    const frame = this.#encoder.encode(message, HEADER_BYTES, MAX_FRAME_BYTES);
    frame.writeUInt32LE(frame.length - HEADER_BYTES);
    this.#socket.write(frame);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    let position = 0;
    // A listener may close the channel; what follows in the chunk is then nobody's.
    while (position < chunk.length && !this.#socket.destroyed) {
      position =
        this.#body === null ? this.#readHeader(chunk, position) : this.#readBody(this.#body, chunk, position);
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
  #begin(length: number): boolean {
    if (length === 0 || length > MAX_FRAME_BYTES) {
      this.#socket.destroy();
      return false;
    }
    // A buffer of its own, or from Node's pool at a multiple of 8: typed arrays of the message are views into it.
    this.#body = Buffer.allocUnsafe(length);
    this.#bodyFilled = 0;
    return true;
  }

  #readBody(body: Buffer, chunk: Buffer, position: number): number {
    const taken = Math.min(body.length - this.#bodyFilled, chunk.length - position);
    chunk.copy(body, this.#bodyFilled, position, position + taken);
    this.#bodyFilled += taken;
    if (this.#bodyFilled === body.length) {
      this.#body = null;
      this.#deliver(body);
    }
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

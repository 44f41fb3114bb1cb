/**
 * Cuts receivers that take a reply too slowly, or take longer for it than any reply may: what waits for them takes memory,
 * disk and a connection. The socket is destroyed, so that nobody takes what has come for the whole reply.
 */
import type { ServerResponse } from "node:http";

export interface ReceiverBounds {
  /** Bytes a second that a receiver takes at least, over a period of so many seconds. */
  readonly receiverBytesPerSecond: number;
  readonly receiverSeconds: number;
  /** Time for one reply, from when it begins to be sent. */
  readonly replySeconds: number;
}

export interface SlowReceiversOptions extends ReceiverBounds {
  readonly onCut: () => void;
}

interface Watched {
  readonly startedAt: number;
  /** Begin of the period, and the bytes the receiver had taken until then. */
  since: number;
  taken: number;
}

const LOOKS_PER_PERIOD = 10;
const MS = 1_000;
/** Progress shows in writes of this size. */
const WRITE_BYTES = 64 * 1024;

export class SlowReceivers {
  readonly #options: SlowReceiversOptions;
  readonly #watched = new Map<ServerResponse, Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SlowReceiversOptions) {
    this.#options = options;
  }

  /** From now until the reply is sent or its connection ends. */
  watch(response: ServerResponse): void {
    if (this.#watched.has(response) || response.destroyed) return;
    const now = performance.now();
    this.#watched.set(response, { startedAt: now, since: now, taken: bytesTaken(response) });
    response.once("close", () => this.#forget(response));
    const periodMs = (this.#options.receiverSeconds * MS) / LOOKS_PER_PERIOD;
    this.#timer ??= setInterval(() => this.#look(), periodMs).unref();
  }

  #forget(response: ServerResponse): void {
    this.#watched.delete(response);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const { onCut, replySeconds } = this.#options;
    const now = performance.now();
    for (const [response, watched] of this.#watched) {
      if (now - watched.startedAt < replySeconds * MS && !this.#isSlow(response, watched, now)) continue;
      this.#forget(response);
      onCut();
      // One that waits for its turn on the connection has no socket yet.
      response.req.socket.destroy();
    }
  }

  /** Over the period that ends now, if it ends now. */
  #isSlow(response: ServerResponse, watched: Watched, now: number): boolean {
    const { receiverBytesPerSecond, receiverSeconds } = this.#options;
    const { socket } = response;
    // Whoever waits for nothing is not slow: the reply is being made, or it is another one's turn.
    const isWaiting = socket !== null && socket.writableLength > 0;
    const seconds = (now - watched.since) / MS;
    if (isWaiting && seconds < receiverSeconds) return false;
    const taken = bytesTaken(response);
    const expected = Math.max(
      receiverBytesPerSecond * seconds - WRITE_BYTES,
      Math.sign(receiverBytesPerSecond),
    );
    const isSlow = isWaiting && taken - watched.taken < expected;
    watched.since = now;
    watched.taken = taken;
    return isSlow;
  }
}

/** By the kernel, for the receiver. */
function bytesTaken({ socket }: ServerResponse): number {
  return socket === null ? 0 : socket.bytesWritten - socket.writableLength;
}

/**
 * Connections that have not finished their TLS handshake. Nobody is known there yet and no request counts, so their number
 * is bounded by itself: where there is no room, the one that has taken longest is closed for the new one.
 */
import type { Socket } from "node:net";

/** Each holds some tens of KiB. */
const MOST_HANDSHAKES = 1_024;

type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

export class Handshakes {
  /** By address and port of the peer, which TLS leaves as they are; in the order in which they came. */
  readonly #open = new Map<string, Socket>();
  readonly #most: number;

  constructor(most = MOST_HANDSHAKES) {
    this.#most = most;
  }

  /** @param socket As it was accepted, before TLS. */
  begin(socket: Socket): void {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= this.#most) {
      this.#open.get(oldest)?.destroy();
      this.#open.delete(oldest);
    }
    const key = keyOf(socket);
    this.#open.set(key, socket);
    socket.once("close", () => {
      if (this.#open.get(key) === socket) this.#open.delete(key);
    });
  }

  end(peer: Peer): void {
    this.#open.delete(keyOf(peer));
  }
}

function keyOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}

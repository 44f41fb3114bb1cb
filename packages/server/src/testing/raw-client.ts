/** A connection down to its bytes: what is written as it stands, and all that comes back. */
import { type Socket, connect } from "node:net";

export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #received = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => (this.#received += chunk.toString("latin1")));
    // The event of the end follows.
    socket.on("error", () => socket.destroy());
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
  }

  static open(port: number, localAddress = "127.0.0.1"): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", localAddress });
      socket.once("error", reject);
      socket.once("connect", () => resolve(new RawClient(socket)));
    });
  }

  get received(): string {
    return this.#received;
  }

  /** Of the answers so far; interim ones, too. */
  get statuses(): readonly number[] {
    return [...this.#received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  write(text: string | Uint8Array): void {
    this.socket.write(text);
  }

  /** Resolves once it holds; rejects where the connection ends or `timeoutMs` pass before. */
  async until(holds: (client: this) => boolean, timeoutMs = 30_000): Promise<void> {
    const end = performance.now() + timeoutMs;
    while (!holds(this)) {
      if (this.socket.destroyed || performance.now() > end) {
        throw new Error(`it does not hold: ${this.#received.slice(-1_000)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Writes, and gives the statuses once there are as many as asked for. */
  async ask(text: string, answers = 1): Promise<readonly number[]> {
    const wanted = this.statuses.length + answers;
    this.write(text);
    await this.until(({ statuses }) => statuses.length >= wanted);
    return this.statuses.slice(wanted - answers);
  }

  close(): void {
    this.socket.destroy();
  }
}

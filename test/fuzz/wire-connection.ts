/** One HTTP/1.1 connection that stays open: bytes out, one parsed answer in. It opens again when the server closes it. */
import { type Socket, connect } from "node:net";
import { ResponseReader, type WireAnswer } from "./response-reader.ts";

/** What came back: an answer, or the end of the connection without one. */
export type Outcome = WireAnswer | "closed" | "no answer in time";

export class WireConnection {
  readonly #port: number;
  #socket: Socket | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  /** @param last Nothing can follow on this connection: the writing side is closed after the bytes. */
  async send(
    bytes: Buffer,
    {
      method,
      last,
      timeoutMs,
    }: { readonly method: string; readonly last: boolean; readonly timeoutMs: number },
  ): Promise<Outcome> {
    const socket = await this.#open();
    const outcome = await new Promise<Outcome>((resolve) => {
      const reader = new ResponseReader(method);
      const timer = setTimeout(() => resolve("no answer in time"), timeoutMs);
      const settle = (result: Outcome): void => {
        clearTimeout(timer);
        socket.removeAllListeners("data").removeAllListeners("close");
        resolve(result);
      };
      socket.on("data", (chunk: Buffer) => {
        const answer = reader.push(chunk);
        if (answer !== null) settle(answer);
      });
      socket.on("close", () => settle(reader.end() ?? "closed"));
      if (last) socket.end(bytes);
      else socket.write(bytes);
    });
    if (last || typeof outcome === "string" || outcome.closes) this.close();
    return outcome;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Promise<Socket> {
    const open = this.#socket;
    if (open !== null && !open.destroyed && open.writable) return Promise.resolve(open);
    return new Promise((resolve, reject) => {
      const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
      this.#socket = socket;
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        // The close event follows and says it.
        socket.on("error", () => socket.destroy());
        resolve(socket);
      });
    });
  }
}

/**
 * A connection of a load generator: requests are prepared bytes, of an answer only status and length are read. The
 * client of Node takes about as long for a request as a bare server does, on cores that the servers need.
 */
import { type Socket, connect } from "node:net";

/** How to build the request lines and headers of one target. */
export interface RequestForm {
  readonly url: URL;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The whole request, head and body. */
export function postBytes({ url, path, headers }: RequestForm, body: Buffer): Buffer {
  const fields = {
    host: url.host,
    ...headers,
    "content-type": "application/json",
    "content-length": body.byteLength,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), body]);
}

export class RawConnection {
  readonly #socket: Socket;
  #answered: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null;
  /** Of the answer that is coming in. */
  #received: Buffer = Buffer.alloc(0);

  constructor({ hostname, port }: URL) {
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", (error) => this.#answered?.reject(error));
    this.#socket.on("close", () => this.#answered?.reject(new Error("the server closed the connection")));
  }

  /** Resolves when the whole answer is here; rejects for any but a success. One at a time. */
  send(request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#answered = null;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = this.#received.toString("latin1", 0, headEnd);
    const length = /\r\ncontent-length: (\d+)/iu.exec(head)?.[1];
    if (!/^HTTP\/1.1 2\d\d /u.test(head) || length === undefined) {
      this.#answered?.reject(new Error(`not an answer of known length: ${head}`));
      return;
    }
    if (this.#received.length < headEnd + 4 + Number(length)) return;
    this.#received = Buffer.alloc(0);
    this.#answered?.resolve();
  }
}

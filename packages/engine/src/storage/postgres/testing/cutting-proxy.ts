/** Stands between a client and PostgreSQL, and cuts connections at a COMMIT, or at another statement. */
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { APPEND_NAME } from "../prepared-statements.ts";

/**
 * `before`: the COMMIT does not reach the server. `during`: it does, and nobody waits for the answer. `after`: it was
 * answered, and the answer is lost. `late`: the client sees the cut a while before the server sees the COMMIT.
 */
export type Cut = "before" | "during" | "after" | "late";

const LATE_MS = 300;
/** Pieces of messages to cut at: the end of a transaction, and the statement that appends, which commits by itself. */
export const COMMIT = "commit\0";
export const APPEND = `${APPEND_NAME}\0`;

export class CuttingProxy {
  readonly port: number;
  /** Asked at each COMMIT; `null`: it passes. */
  onCommit: () => Cut | null = () => null;
  /** A piece of the message. */
  cutsAt = COMMIT;
  /** New connections are closed at once. */
  refuses = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (client) => this.#join(client, target));
  }

  static async start(target: number): Promise<CuttingProxy> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new CuttingProxy(server, target);
  }

  /** Ends all connections, and those that come while `refuses` is set. */
  cutAll(): void {
    this.refuses = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket, target: number): void {
    if (this.refuses) {
      client.destroy();
      return;
    }
    const server = connect(target, "127.0.0.1");
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
    }
    const pass = (part: Buffer): void => void client.write(part);
    server.on("data", pass).on("close", () => client.destroy());
    // As one that is killed: the server rolls back what it had begun.
    client.on("end", () => server.end()).on("close", () => server.destroy());
    client.on("data", (part: Buffer) => {
      const cut = part.includes(this.cutsAt) ? this.onCommit() : null;
      if (cut === null) server.write(part);
      else this.#cut(cut, { client, server, part });
    });
  }

  #cut(
    cut: Cut,
    { client, server, part }: { readonly client: Socket; readonly server: Socket; readonly part: Buffer },
  ): void {
    server.removeAllListeners("data").resume();
    client.removeAllListeners("close").on("close", () => this.#sockets.delete(client));
    if (cut === "before") server.destroy();
    if (cut === "during") server.end(part);
    if (cut === "late") setTimeout(() => server.end(part), LATE_MS);
    if (cut === "after") {
      server.once("data", () => {
        server.destroy();
        client.destroy();
      });
      server.write(part);
    } else client.destroy();
  }
}

/** Channels between servers of a cluster: both ends have shown the secret before anything is read. */
import { once } from "node:events";
import { isIPv6, type AddressInfo, type Socket } from "node:net";
import { type TLSSocket, type Server, connect, createServer } from "node:tls";
import { Channel } from "../channel.ts";
import type { ClusterSecret } from "./cluster-secret.ts";
import { Handshakes } from "./handshakes.ts";

export interface PeerAddress {
  readonly host: string;
  readonly port: number;
  /** Id of the cluster that whoever listens there is of, where it is known: another cluster may have the same secret. */
  readonly cluster?: string | undefined;
}

export interface PeerLimits {
  /** Until both have shown the secret, and until an address answers at all. */
  readonly handshakeMs: number;
  /** Connections at once that have not. */
  readonly handshakes: number;
  /** Connections at once that have. Each gateway has two. */
  readonly connections: number;
  /** A connection on which nothing comes for so long is closed: its other end asks for signs of life. */
  readonly silentMs: number;
  /** One message, and all parts together that no message has named yet. */
  readonly messageBytes: number;
}

export const PEER_LIMITS: PeerLimits = {
  ...{ handshakeMs: 3_000, handshakes: 64, connections: 256, silentMs: 30_000 },
  // Eight of the largest bodies, as they are once they were parsed.
  messageBytes: 512 * 1024 * 1024,
};

export interface PeerListenerOptions extends PeerAddress {
  readonly secret: ClusterSecret;
  readonly limits?: Partial<PeerLimits>;
  /** A peer that has shown the secret. */
  readonly onPeer: (channel: Channel) => void;
  /** A connection that was closed before, with the reason of TLS. */
  readonly onRefused?: (reason: string, address: string) => void;
}

export class PeerListener {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: ReadonlySet<Socket>;

  private constructor(server: Server, sockets: ReadonlySet<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Rejects where the address cannot be listened on. */
  static async open(options: PeerListenerOptions): Promise<PeerListener> {
    const limits = { ...PEER_LIMITS, ...options.limits };
    const { secret, cluster, host, port, onPeer, onRefused = () => {} } = options;
    const sockets = new Set<Socket>();
    const handshakes = new Handshakes(limits.handshakes);
    const server = createServer({ ...secret.listening(cluster), handshakeTimeout: limits.handshakeMs });
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      handshakes.begin(socket);
    });
    server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
      onRefused(reasonOf(error) ?? "ECONNRESET", socket.remoteAddress ?? "");
      socket.destroy();
    });
    let peers = 0;
    server.on("secureConnection", (socket) => {
      handshakes.end(socket);
      if (peers >= limits.connections) {
        onRefused("too many connections", socket.remoteAddress ?? "");
        socket.destroy();
        return;
      }
      peers += 1;
      socket.once("close", () => (peers -= 1));
      onPeer(channelOver(socket, limits));
    });
    server.listen({ host, port });
    await once(server, "listening");
    return new PeerListener(server, sockets);
  }

  /** Nobody new comes in; who is connected stays. */
  refuseNew(): void {
    this.#server.close();
  }

  async close(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, "close") : Promise.resolve();
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** Rejects where nobody answers there in time, or who answers does not know the secret, or says that it is of another cluster. */
export async function connectToPeer(
  { host, port, cluster }: PeerAddress,
  secret: ClusterSecret,
  given: Partial<PeerLimits> = {},
  signal?: AbortSignal,
): Promise<Channel> {
  const limits = { ...PEER_LIMITS, ...given };
  const connecting = secret.connecting();
  const socket = connect({ ...connecting.options, host, port });
  const late = setTimeout(() => socket.destroy(new Error("it did not answer in time")), limits.handshakeMs);
  try {
    await once(socket, "secureConnect", { signal });
    refuseOther(cluster, connecting.cluster());
  } catch (error) {
    socket.destroy();
    const reason = isOfTls(error) ? reasonOf(error) : undefined;
    throw reason === undefined ? error : new Error(reason, { cause: error });
  } finally {
    clearTimeout(late);
  }
  return channelOver(socket, limits);
}

/** Servers of earlier versions say nothing. */
function refuseOther(own: string | undefined, said: string | undefined): void {
  if (own === undefined || said === undefined || own === said) return;
  throw new Error(`it is of another database (cluster ${said}), and this server is of cluster ${own}`);
}

function isOfTls(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(?:EPROTO$|ERR_SSL_)/u.test(String(error.code));
}

/** In words where the handshake itself failed: TLS says which byte it did not understand. */
function reasonOf(error: unknown): string | undefined {
  if (isOfTls(error)) return "it has another cluster secret, or is no server of Sheaf";
  return (error as NodeJS.ErrnoException).code;
}

/** As it is written in a URL. */
export function peerName({ host, port }: PeerAddress): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function channelOver(socket: TLSSocket, { silentMs, messageBytes }: PeerLimits): Channel {
  socket.setNoDelay(true);
  socket.setTimeout(silentMs, () => socket.destroy());
  return new Channel(socket, messageBytes);
}

/**
 * All connections of the server: bounds how many there are, whole and of one address. Where there is no room, the one that
 * has been idle longest is closed for the new one; where none is idle, requests on the new one are answered with 503.
 * Once a second those whose bodies come too slowly are ended.
 */
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  createServer,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { Handshakes, shortenTurn } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { type TrustedProxies, addressGroup, plainAddress } from "./client-address.ts";
import { Connection, type Exchange } from "./connection.ts";
import type { TlsIdentity } from "../tls/tls-identity.ts";
import type { ConnectionBounds } from "./connection-bounds.ts";

export interface ConnectionsOptions {
  readonly bounds: ConnectionBounds;
  /** Not bounded by address: they speak for many. */
  readonly proxies: TrustedProxies;
  readonly keepAliveSeconds: number;
  /** Time for a whole request, its body included. */
  readonly requestSeconds: number;
  /** Called when connections are refused, at most once a minute. */
  readonly onRefused: (open: number) => void;
  /** `null`: plain HTTP. */
  readonly tls?: TlsIdentity | null;
}

interface Group {
  open: number;
  /** Requests that its connections have not begun to work on. */
  waiting: number;
  /** Those without a request, the one that has been idle longest first, and the second since when. */
  readonly idle: Map<Connection, number>;
  /** Proxies have none. */
  readonly isBounded: boolean;
}

const MOST_HEADERS = 2_000;
const HEADER_SECONDS = 15;
const HANDSHAKE_SECONDS = 10;
const CHECK_SECONDS = 5;
const REFUSED_SECONDS = 3;
const SECONDS_BETWEEN_REPORTS = 60;
const RETRY_AFTER_SECONDS = "1";
const MS = 1_000;
const FAULTY = new SheafError("invalid_argument", "").errorName;
const FULL = new SheafError("unavailable", "the server has as many connections as it takes; try again later");

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #bySocket = new Map<Socket, Connection>();
  readonly #groups = new Map<string, Group>();
  /** Those that were admitted no more -> the second when they came. */
  readonly #refused = new Map<Connection, number>();
  /** Answers whose clients wait to be told to send their bodies. */
  readonly #expecting = new WeakSet<ServerResponse>();
  #waiting = 0;
  #second = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** An HTTP server whose connections keep the bounds. */
  createServer(handler: RequestListener): Server {
    const { keepAliveSeconds, requestSeconds, tls = null } = this.#options;
    const receive: RequestListener = (request, response) => this.#receive({ request, response, handler });
    const options: ServerOptions = {
      headersTimeout: HEADER_SECONDS * MS,
      requestTimeout: requestSeconds * MS,
      keepAliveTimeout: keepAliveSeconds * MS,
      connectionsCheckingInterval: CHECK_SECONDS * MS,
      // Refused like every other fault of a request, with a body.
      requireHostHeader: false,
    };
    const server =
      tls === null ? createServer(options, receive) : this.#createTlsServer(tls, options, receive);
    // Node would hide those beyond its bound, a key or the coding of the body among them.
    server.maxHeadersCount = 0;
    server.on(tls === null ? "connection" : "secureConnection", (socket: Socket) => this.#open(socket));
    server.on("checkContinue", (request, response) => {
      this.#expecting.add(response);
      receive(request, response);
    });
    // An expectation that we do not know is one that we need not meet (RFC 9110, 10.1.1).
    server.on("checkExpectation", receive);
    server.on("listening", () => {
      const timer = setInterval(() => this.#check(server), MS).unref();
      server.on("close", () => clearInterval(timer));
    });
    return server;
  }

  #createTlsServer(identity: TlsIdentity, options: ServerOptions, receive: RequestListener): Server {
    const handshakes = new Handshakes();
    const { cert, key } = identity;
    const server = createTlsServer(
      { ...options, cert, key, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_SECONDS * MS },
      receive,
    );
    server.on("connection", (socket) => handshakes.begin(socket as Socket));
    server.on("secureConnection", (socket) => handshakes.end(socket));
    return server;
  }

  /** Lets the client send its body, where it waits for that. Otherwise it hears `Connection: close` with its answer. */
  invite(response: ServerResponse): void {
    if (this.#expecting.delete(response)) response.writeContinue();
  }

  /** `undefined`: closed already. */
  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  #open(socket: Socket): void {
    shortenTurn();
    const address = plainAddress(socket.remoteAddress);
    const group = addressGroup(address);
    const connection = new Connection({ socket, group }, this.#options.bounds, {
      idleChanged: (changed, isIdle) => this.#idleChanged(changed, isIdle),
      waitingChanged: (by) => this.#waitingChanged(group, by),
    });
    if (!this.#admit(connection, address)) {
      this.#report();
      if (this.#refused.size >= this.#options.bounds.refusedConnections) {
        socket.destroy();
        return;
      }
      this.#refused.set(connection, this.#second);
    }
    this.#bySocket.set(socket, connection);
    socket.once("close", () => this.#close(connection));
  }

  #receive(exchange: Exchange): void {
    const connection = this.#bySocket.get(exchange.request.socket);
    // Closed to make room while this was being parsed.
    if (connection === undefined) return;
    const faulty = refuseFaulty(exchange.request);
    if (faulty !== null) {
      connection.receiveLast({ ...exchange, handler: faulty });
      return;
    }
    const isRefused = this.#refused.size > 0 && this.#refused.has(connection) && !this.#admitLate(connection);
    connection.receive(isRefused ? { ...exchange, handler: refuse } : exchange);
  }

  #admitLate(connection: Connection): boolean {
    if (!this.#admit(connection, plainAddress(connection.socket.remoteAddress))) return false;
    this.#refused.delete(connection);
    return true;
  }

  /** Counts it, where there is room or where room can be made. */
  #admit(connection: Connection, address: string): boolean {
    const group = this.#groups.get(connection.group) ?? {
      open: 0,
      waiting: 0,
      idle: new Map(),
      isBounded: !this.#options.proxies.has(address),
    };
    const { connections, connectionsPerAddress } = this.#options.bounds;
    if (group.isBounded && connectionsPerAddress > 0 && group.open >= connectionsPerAddress) {
      if (!this.#closeIdle([group])) return false;
    }
    const open = this.#bySocket.size - this.#refused.size;
    if (connections > 0 && open >= connections && !this.#closeIdle(this.#groups.values())) return false;
    this.#groups.set(connection.group, group);
    group.open++;
    group.idle.set(connection, this.#second);
    return true;
  }

  /** Of the client with the most connections among those that have an idle one. */
  #closeIdle(groups: Iterable<Group>): boolean {
    let most = 0;
    let found: Connection | null = null;
    for (const { open, idle } of groups) {
      const [longest] = idle;
      if (longest === undefined || open <= most) continue;
      const [connection, since] = longest;
      if (this.#second - since < this.#options.bounds.idleSeconds) continue;
      most = open;
      found = connection;
    }
    if (found === null) return false;
    found.socket.destroy();
    this.#close(found);
    return true;
  }

  /** Also called ahead of the socket's event, which comes later. */
  #close(connection: Connection): void {
    if (!this.#bySocket.delete(connection.socket)) return;
    if (!this.#refused.delete(connection)) {
      const group = this.#groups.get(connection.group);
      if (group !== undefined) {
        group.open--;
        group.idle.delete(connection);
        if (group.open === 0) this.#groups.delete(connection.group);
      }
    }
    connection.closed();
  }

  #idleChanged(connection: Connection, isIdle: boolean): void {
    if (this.#refused.has(connection)) return;
    const idle = this.#groups.get(connection.group)?.idle;
    if (!isIdle) idle?.delete(connection);
    else if (this.#bySocket.has(connection.socket)) idle?.set(connection, this.#second);
  }

  /** Whether so many may wait. Whoever fills the share of an address keeps no other address from pipelining. */
  #waitingChanged(address: string, by: number): boolean {
    const { waitingRequests, waitingRequestsPerAddress } = this.#options.bounds;
    this.#waiting += by;
    const group = this.#groups.get(address);
    if (group !== undefined) group.waiting = Math.max(0, group.waiting + by);
    const ofAddress = group?.isBounded === true ? group.waiting : 0;
    return this.#waiting <= waitingRequests && ofAddress <= waitingRequestsPerAddress;
  }

  #check(server: Server): void {
    this.#second++;
    for (const [connection, since] of this.#refused) {
      if (this.#second - since > REFUSED_SECONDS) connection.socket.destroy();
    }
    for (const connection of this.#bySocket.values()) {
      if (connection.check() !== "slow body") continue;
      const late = Object.assign(new Error("the body comes too slowly"), {
        code: "ERR_HTTP_REQUEST_TIMEOUT",
      });
      server.emit("clientError", late, connection.socket);
    }
  }

  #report(): void {
    if (this.#second - this.#reportedAt < SECONDS_BETWEEN_REPORTS) return;
    this.#reportedAt = this.#second;
    this.#options.onRefused(this.#bySocket.size);
  }
}

/** `null`: its headers say what is sent, and Node has read it so. */
function refuseFaulty({ rawHeaders, headers }: IncomingMessage): RequestListener | null {
  if (rawHeaders.length > 2 * MOST_HEADERS) {
    return (_request, response) =>
      close(response, 431, { error: FAULTY, message: `a request has at most ${MOST_HEADERS} headers` });
  }
  const coding = headers["transfer-encoding"];
  if (coding === undefined || coding.toLowerCase() === "chunked") return null;
  const message = "Transfer-Encoding: must be chunked, or absent";
  return (_request, response) => close(response, 400, { error: FAULTY, message });
}

function refuse(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("retry-after", RETRY_AFTER_SECONDS);
  close(response, FULL.status, { error: FULL.errorName, message: FULL.message });
}

function close(response: ServerResponse, status: number, error: object): void {
  const body = JSON.stringify(error);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  });
  response.end(body);
}

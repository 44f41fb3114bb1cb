/**
 * One connection of a client: which of its requests are worked on, and whether what it sends comes in time.
 *
 * Node parses pipelined requests as they arrive and hands over all of them. Here only some are worked on at a time; the
 * others wait in order, and the socket is not read meanwhile. A connection that is to end in the middle of a body is
 * closed on our side only, and the rest of the body is thrown away: were it closed at once, the kernel would reset it,
 * and the client would lose the answer.
 *
 * Invariant: every request that was begun emits `close` on its answer, also where the connection ends before its turn.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { ConnectionBounds } from "./connection-bounds.ts";
import { beginSlice, isSliceOver, nextSlice } from "@sheaf/process";
import { PacedReader } from "./paced-reader.ts";

/** A request, its answer, and who makes it. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly handler: RequestListener;
}

/** What a connection tells of itself. */
export interface ConnectionEvents {
  /** It has no request now, or has one again. */
  idleChanged(connection: Connection, isIdle: boolean): void;
  /** So many more requests wait than before; `false`: that is too many. */
  waitingChanged(by: number): boolean;
}

type Fault = "slow body" | null;

export class Connection {
  readonly socket: Socket;
  /** What it is counted by. */
  readonly group: string;
  readonly #bounds: ConnectionBounds;
  readonly #events: ConnectionEvents;
  readonly #reader: PacedReader;
  readonly #running = new Set<ServerResponse>();
  #waiting: Exchange[] = [];
  #isHeld = false;
  /** What waits begins in a later turn. */
  #isPostponed = false;
  /** Its last request has been received. */
  #isFaulty = false;
  /** Nothing more is answered. */
  #isEnding = false;
  #newest: Exchange | null = null;
  /** The body that is watched, and the bytes of the socket when that began and at the last look. */
  #watched: IncomingMessage | null = null;
  #bytesBefore = 0;
  #bytesSeen = 0;
  /** Bytes that it is ahead of the rate. */
  #creditBytes = 0;
  #secondsUnread = 0;

  constructor(
    { socket, group }: { readonly socket: Socket; readonly group: string },
    bounds: ConnectionBounds,
    events: ConnectionEvents,
  ) {
    this.socket = socket;
    this.group = group;
    this.#bounds = bounds;
    this.#events = events;
    this.#reader = new PacedReader(socket, group);
    socket.destroySoon = () => this.#endSoon();
  }

  /** Nobody can say where its body ends, so what seems to follow it is no request. */
  receiveLast(exchange: Exchange): void {
    this.receive(exchange);
    this.#isFaulty = true;
  }

  receive(exchange: Exchange): void {
    if (this.#isFaulty) return;
    this.#newest = exchange;
    if (this.#isEnding) this.socket.destroy();
    else if (this.#running.size < this.#bounds.pipelinedRequests && !this.#isHeld) this.#begin(exchange);
    else if (this.#events.waitingChanged(1)) this.#hold(exchange);
    else this.#giveUp();
  }

  /** There is no room for what comes of a body, until `receiveBody`. */
  holdBody(): void {
    this.#reader.hold("body");
  }

  receiveBody(): void {
    this.#reader.release("body");
  }

  /** Its socket has closed: ends what was begun, for Node ends only the answer whose turn it is. */
  closed(): void {
    this.#isEnding = true;
    this.#forgetWaiting();
    for (const response of this.#running) {
      if (response.socket !== null) continue;
      response.destroyed = true;
      response.emit("close");
    }
  }

  /** To be called once a second. Closes the connection where it has been too slow, unless that has to be answered. */
  check(): Fault {
    const exchange = this.#newest;
    if (exchange === null || exchange.request.complete) {
      // The client has its answer, and has sent all it had.
      if (this.#isEnding) this.socket.destroy();
      this.#watched = null;
      return null;
    }
    if (exchange.request !== this.#watched) {
      this.#watch(exchange.request);
      return null;
    }
    const { unreadBodyBytes, unreadBodySeconds } = this.#bounds;
    const isSlow = this.#isSlow();
    if (!exchange.response.writableFinished) {
      if (!isSlow) return null;
      if (this.#running.size === 1) return "slow body";
      // Words about this one would be taken for the answer to another.
      this.socket.destroy();
      return null;
    }
    this.#secondsUnread++;
    const bytes = this.socket.bytesRead - this.#bytesBefore;
    const isLong = bytes > unreadBodyBytes || this.#secondsUnread > unreadBodySeconds;
    if (isSlow || isLong || this.#reader.isCostly) this.socket.destroy();
    return null;
  }

  #watch(request: IncomingMessage): void {
    this.#watched = request;
    this.#secondsUnread = 0;
    this.#bytesBefore = this.socket.bytesRead;
    this.#bytesSeen = this.#bytesBefore;
    this.#creditBytes = this.#bounds.bodyBytesPerSecond * this.#bounds.bodyGraceSeconds;
  }

  /** Over the second that ends now. What came fast earns a pause, but no long one. */
  #isSlow(): boolean {
    const { bodyBytesPerSecond, bodyPauseSeconds } = this.#bounds;
    const { bytesRead } = this.socket;
    const credit = this.#creditBytes + bytesRead - this.#bytesSeen;
    this.#bytesSeen = bytesRead;
    this.#creditBytes = Math.min(credit, bodyBytesPerSecond * bodyPauseSeconds);
    // Nothing comes while we do not read.
    if (!this.socket.isPaused()) this.#creditBytes -= bodyBytesPerSecond;
    return this.#creditBytes < 0;
  }

  #begin({ request, response, handler }: Exchange): void {
    if (this.#running.size === 0) this.#events.idleChanged(this, false);
    this.#running.add(response);
    handler(request, response);
    // After what the handler does at its end: the next request may need what this one gives back.
    response.once("close", () => this.#end(response));
  }

  #end(response: ServerResponse): void {
    this.#running.delete(response);
    this.#beginWaiting();
    if (this.#running.size === 0 && this.#waiting.length === 0) this.#events.idleChanged(this, true);
  }

  /** As many as may be worked on, in this turn of the event loop or, where its slice is used up, in a later one. */
  #beginWaiting(): void {
    while (this.#mayBegin()) {
      if (this.#waiting.length > 0 && isSliceOver()) {
        this.#postpone();
        return;
      }
      const next = this.#waiting.shift();
      if (next === undefined) break;
      beginSlice();
      this.#events.waitingChanged(-1);
      this.#begin(next);
    }
    if (!this.#isHeld || this.#waiting.length > 0) return;
    this.#isHeld = false;
    this.#reader.release("requests");
  }

  #mayBegin(): boolean {
    return !this.#isEnding && !this.#isPostponed && this.#running.size < this.#bounds.pipelinedRequests;
  }

  #postpone(): void {
    this.#isPostponed = true;
    void nextSlice(this.group).then(() => {
      this.#isPostponed = false;
      this.#beginWaiting();
    });
  }

  #hold(exchange: Exchange): void {
    this.#waiting.push(exchange);
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#reader.hold("requests");
  }

  /** More requests wait than the server holds. */
  #giveUp(): void {
    this.#isEnding = true;
    this.#events.waitingChanged(-1);
    this.#forgetWaiting();
    this.socket.destroy();
  }

  #forgetWaiting(): void {
    this.#events.waitingChanged(-this.#waiting.length);
    this.#waiting = [];
  }

  /** Instead of the socket's own: ends our side, and the other one where its body is complete. */
  #endSoon(): void {
    if (this.#newest?.request.complete !== false) {
      Socket.prototype.destroySoon.call(this.socket);
      return;
    }
    this.#isEnding = true;
    this.socket.end();
  }
}

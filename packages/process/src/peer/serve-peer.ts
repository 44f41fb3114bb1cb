/** The side of a peer that answers calls, on one connection. */
import { SheafError } from "@sheaf/protocol";
import type { Channel } from "../channel.ts";
import { type RpcHandler, RpcServer } from "../rpc.ts";
import { LEAVING_EVENT, type PeerFate, type PeerReport } from "./peer-link.ts";

export interface PeerService {
  /** Whether it can begin calls now. */
  readonly isReady: () => boolean;
  /**
   * What answers the calls of one connection.
   *
   * @param emit Sends the caller an event, which `PeerLinkHooks.onEvent` hears.
   */
  readonly connect: (emit: (name: string, value: unknown) => void) => PeerSession;
}

export interface PeerSession {
  readonly handle: RpcHandler;
  /** Whose call it is: while answers wait to be sent, owners take turns. */
  readonly ownerOf?: (args: readonly unknown[]) => string;
  /** What was begun and its caller goes on with: it may do so on a peer that leaves, which waits for it. */
  readonly open?: {
    readonly count: () => number;
    readonly isPartOf: (method: string) => boolean;
  };
  /** The connection has ended; nobody hears answers any more. */
  readonly close?: () => void;
}

/** Where the peer that serves fails, it says so beside the error: the caller may ask another one. */
export class ServedPeers {
  readonly #service: PeerService;
  readonly #onUnexpected: (error: unknown) => void;
  readonly #servers = new Map<RpcServer, PeerSession>();
  #isLeaving = false;
  #calls = 0;
  #onIdle: () => void = () => {};

  constructor(service: PeerService, onUnexpected: (error: unknown) => void) {
    this.#service = service;
    this.#onUnexpected = onUnexpected;
  }

  serve(channel: Channel): void {
    const session = this.#service.connect((name, value) => server.emit(name, value));
    const { ownerOf } = session;
    const server: RpcServer = new RpcServer(channel, this.#guarded(session), {
      onUnexpected: this.#onUnexpected,
      ...(ownerOf !== undefined && { ownerOf }),
    });
    this.#servers.set(server, session);
    channel.onClose(() => {
      this.#servers.delete(server);
      server.abortAll();
      session.close?.();
      this.#tellIfIdle();
    });
    if (this.#isLeaving) server.emit(LEAVING_EVENT, null);
  }

  /** Begins nothing more, and resolves when what was begun is over, or the time is. */
  async leave(graceMs: number): Promise<void> {
    this.#isLeaving = true;
    for (const server of this.#servers.keys()) server.emit(LEAVING_EVENT, null);
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  get #isIdle(): boolean {
    return this.#calls === 0 && [...this.#servers.values()].every(({ open }) => (open?.count() ?? 0) === 0);
  }

  #tellIfIdle(): void {
    if (this.#isIdle) this.#onIdle();
  }

  #guarded({ handle, open }: PeerSession): RpcHandler {
    return async (method, args, options) => {
      const report = (said: PeerReport): void => options.onReport(said);
      const mayBegin = !this.#isLeaving || open?.isPartOf(method) === true;
      if (!mayBegin || !this.#service.isReady()) {
        report({ fate: "refused" });
        throw new SheafError("unavailable", "the node takes no calls now", { retryAfterSeconds: 1 });
      }
      this.#calls += 1;
      try {
        return await handle(method, args, { ...options, onReport: (call) => report({ call }) });
      } catch (error) {
        const isUnavailable = error instanceof SheafError && error.code === "unavailable";
        const fate: PeerFate | null = isUnavailable && !this.#service.isReady() ? "lost" : null;
        if (fate !== null) report({ fate });
        throw error;
      } finally {
        this.#calls -= 1;
        this.#tellIfIdle();
      }
    };
  }
}

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
  /** The connection has ended; nobody hears answers any more. */
  readonly close?: () => void;
}

/** Where the peer that serves fails, it says so beside the error: the caller may ask another one. */
export class ServedPeers {
  readonly #service: PeerService;
  readonly #onUnexpected: (error: unknown) => void;
  readonly #servers = new Set<RpcServer>();
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
    this.#servers.add(server);
    channel.onClose(() => {
      this.#servers.delete(server);
      server.abortAll();
      session.close?.();
    });
    if (this.#isLeaving) server.emit(LEAVING_EVENT, null);
  }

  /** Takes no more calls, and resolves when those under way are answered, or the time is over. */
  async leave(graceMs: number): Promise<void> {
    this.#isLeaving = true;
    for (const server of this.#servers) server.emit(LEAVING_EVENT, null);
    if (this.#calls === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #guarded({ handle }: PeerSession): RpcHandler {
    return async (method, args, options) => {
      const report = (said: PeerReport): void => options.onReport(said);
      if (this.#isLeaving || !this.#service.isReady()) {
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
        if (this.#calls === 0) this.#onIdle();
      }
    };
  }
}

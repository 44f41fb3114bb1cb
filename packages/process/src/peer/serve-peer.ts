/** The side of a peer that answers calls, on one connection. */
import { setTimeout as sleep } from "node:timers/promises";
import { type CancelSignal, Cancellation, SheafError, throwIfAborted } from "@sheaf/protocol";
import type { Channel } from "../channel.ts";
import { type RpcHandler, RpcServer } from "../rpc.ts";
import { CallersSign } from "./callers-sign.ts";
import { HEARD_METHOD, LEAVING_EVENT, type PeerFate, type PeerReport } from "./peer-link.ts";
import { StandstillWatch } from "./standstill-watch.ts";

export interface PeerService {
  /** Whether it can begin calls now. */
  readonly isReady: () => boolean;
  /**
   * What answers the calls of one connection.
   *
   * @param emit Sends the caller an event, which `PeerLinkHooks.onEvent` hears.
   */
  readonly connect: (emit: (name: string, value: unknown) => void) => PeerSession;
  /** Is given what settles once it is known whose changes are still waited for: the others are aborted. */
  readonly heed?: (callersWait: () => Promise<unknown> | undefined) => void;
}

export interface PeerSession {
  readonly handle: RpcHandler;
  /** Whose call it is: while answers wait to be sent, owners take turns. */
  readonly ownerOf?: (args: readonly unknown[]) => string;
  /** As `RpcServerHooks` has it. */
  readonly relays?: (method: string) => boolean;
  /** Whether it must not be done late, when its caller has been told something else: by default nothing is so. */
  readonly changes?: (method: string) => boolean;
  /** What was begun and its caller goes on with: it may do so on a peer that leaves, which waits for it. */
  readonly open?: {
    readonly count: () => number;
    readonly isPartOf: (method: string) => boolean;
  };
  /** The connection has ended; nobody hears answers any more. */
  readonly close?: () => void;
}

/** How long a caller that is asked for a sign may take: one that is stopped, or of an earlier version, gives none. */
const SIGN_MS = 1_000;

interface Connection {
  readonly session: PeerSession;
  readonly channel: Channel;
  readonly sign: CallersSign;
  /** Of calls under way that change something. */
  readonly changing: Set<Cancellation>;
  /** Nothing that was sent before the caller knew that the peer leaves is still on its way. */
  hasHeard: boolean;
}

/** Where the peer that serves fails, it says so beside the error: the caller may ask another one. */
export class ServedPeers {
  readonly #service: PeerService;
  readonly #onUnexpected: (error: unknown) => void;
  readonly #connections = new Map<RpcServer, Connection>();
  readonly #standstills = new StandstillWatch();
  #isLeaving = false;
  #onIdle: () => void = () => {};

  constructor(service: PeerService, onUnexpected: (error: unknown) => void) {
    this.#service = service;
    this.#onUnexpected = onUnexpected;
    service.heed?.(() => this.#callersWait());
  }

  serve(channel: Channel): void {
    const session = this.#service.connect((name, value) => server.emit(name, value));
    const sign = new CallersSign(this.#standstills, (number) => server.askCallers(number), SIGN_MS);
    const connection: Connection = { session, channel, sign, changing: new Set(), hasHeard: false };
    const { ownerOf, relays } = session;
    const server: RpcServer = new RpcServer(channel, this.#guarded(connection), {
      onUnexpected: this.#onUnexpected,
      onAnswered: () => this.#tellIfIdle(),
      onSign: (number) => sign.heard(number),
      ...(ownerOf !== undefined && { ownerOf }),
      ...(relays !== undefined && { relays }),
    });
    this.#connections.set(server, connection);
    channel.onClose(() => {
      this.#connections.delete(server);
      server.abortAll();
      sign.end();
      session.close?.();
      this.#tellIfIdle();
    });
    if (this.#isLeaving) server.emit(LEAVING_EVENT, null);
  }

  /**
   * Begins nothing more, and resolves when what was begun is over and answered, or the time is. Its connections are closed
   * then.
   */
  async leave(graceMs: number): Promise<void> {
    this.#isLeaving = true;
    for (const server of this.#connections.keys()) server.emit(LEAVING_EVENT, null);
    const late = setTimeout(() => {
      for (const connection of this.#connections.values()) connection.hasHeard = true;
      this.#tellIfIdle();
    }, SIGN_MS);
    if (!this.#isIdle) await this.#idle(graceMs);
    clearTimeout(late);
    const ended = Promise.all([...this.#connections.values()].map(({ channel }) => channel.end()));
    await Promise.race([ended, sleep(SIGN_MS, null, { ref: false })]);
  }

  async #idle(graceMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  get #isIdle(): boolean {
    return [...this.#connections].every(
      ([server, { session, hasHeard }]) =>
        hasHeard && server.running === 0 && (session.open?.count() ?? 0) === 0,
    );
  }

  #tellIfIdle(): void {
    if (this.#isIdle) this.#onIdle();
  }

  /** Those who have called for something that is under way; `undefined`: there is no doubt. */
  #callersWait(): Promise<unknown> | undefined {
    const changing = [...this.#connections.values()].filter((connection) => connection.changing.size > 0);
    const signs = changing.flatMap((connection) => signOf(connection) ?? []);
    return signs.length === 0 ? undefined : Promise.all(signs);
  }

  #guarded(connection: Connection): RpcHandler {
    const { session, changing } = connection;
    const { handle, open, changes = () => false } = session;
    return async (method, args, options) => {
      const report = (said: PeerReport): void => options.onReport(said);
      if (method === HEARD_METHOD) {
        connection.hasHeard = true;
        return null;
      }
      const isChange = changes(method);
      // After a standstill it begins only where its caller says that it still waits.
      const wanted = isChange ? signOf(connection) : undefined;
      const isLate = wanted !== undefined && !(await wanted);
      throwIfAborted(options.signal);
      const mayBegin = !this.#isLeaving || open?.isPartOf(method) === true;
      if (isLate || !mayBegin || !this.#service.isReady()) {
        report({ fate: "refused" });
        throw new SheafError("unavailable", "the node takes no calls now", { retryAfterSeconds: 1 });
      }
      const own = isChange ? cancelledWith(options.signal) : null;
      if (own !== null) changing.add(own);
      try {
        const signal = own ?? options.signal;
        return await handle(method, args, { ...options, signal, onReport: (call) => report({ call }) });
      } catch (error) {
        const isUnavailable = error instanceof SheafError && error.code === "unavailable";
        const isLost = own?.reason instanceof NoSign || (isUnavailable && !this.#service.isReady());
        const fate: PeerFate | null = isLost ? "lost" : null;
        if (fate !== null) report({ fate });
        throw error;
      } finally {
        if (own !== null) changing.delete(own);
      }
    };
  }
}

/** Why a call ends whose caller may have given it up. */
class NoSign extends SheafError {
  constructor() {
    super("cancelled", "the caller gave no sign that it still waits");
  }
}

/** As `CallersSign.wanted`. What is under way for one that gives none is ended: it would be done late, if it still can be. */
function signOf({ sign, changing }: Connection): Promise<boolean> | undefined {
  return sign.wanted?.then((isHeard) => {
    if (!isHeard) for (const call of changing) call.abort(new NoSign());
    return isHeard;
  });
}

/** @param signal Not aborted yet. */
function cancelledWith(signal: CancelSignal): Cancellation {
  const own = new Cancellation();
  signal.addEventListener("abort", () => own.abort(signal.reason), { once: true });
  return own;
}

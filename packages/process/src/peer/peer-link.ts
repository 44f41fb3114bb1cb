/**
 * One peer as a caller sees it: a connection for calls, and one of its own for signs of life, so that no large message stands
 * before them. A peer that gives none for a second is dead: what it has under way is given up, and it is connected to again until
 * the link is closed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { HangWatch } from "../hang-watch.ts";
import { type CallOptions, RpcClient } from "../rpc.ts";
import type { Channel } from "../channel.ts";
import type { ClusterSecret } from "./cluster-secret.ts";
import { type PeerAddress, type PeerLimits, connectToPeer, peerName } from "./peer-sockets.ts";

const LOOK_MS = 250;
/** Looks are counted, not time: a caller that was stopped itself blames nobody. */
const DEAD_LOOKS = 4;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 2_000;
/** A peer that leaves finishes what it has within a shorter time, and closes the connection. */
const RETIRE_MS = 10_000;
/** The other end closes a connection that is silent for longer. */
const SIGN_MS = 5_000;

/** What a peer says of a call beside its answer. */
export interface PeerReport {
  /** It is the peer that failed, and another one may answer: it has not begun the call, or what had begun it has ended. */
  readonly fate?: PeerFate;
  /** What the call itself reports. */
  readonly call?: unknown;
}

/** `refused`: certainly not begun. `lost`: nobody can tell. */
export type PeerFate = "refused" | "lost";

/** A call that its peer has not answered. */
export class PeerFailure extends Error {
  readonly fate: PeerFate;

  constructor(fate: PeerFate, options?: ErrorOptions) {
    super(fate === "refused" ? "the peer takes no calls" : "the peer has not answered", options);
    this.fate = fate;
  }
}

export interface PeerCallOptions extends CallOptions {
  /** How much of the peer it takes, compared with other calls; 1 by default. */
  readonly weight?: number;
  /** It goes on with what this connection has begun: a peer that leaves takes it, too. */
  readonly goesOn?: boolean;
}

export interface PeerLinkHooks {
  /** Hears the result of a call that was cancelled after the peer had answered it. */
  readonly onUnclaimed?: (value: unknown, link: PeerLink) => void;
  /** Hears what the peer tells without being asked. */
  readonly onEvent?: (name: string, value: unknown, link: PeerLink) => void;
  /** It can be called from now on (`null`), or it cannot, and why. The same reason comes once. */
  readonly onChange?: (link: PeerLink, problem: string | null) => void;
}

/** Event by which a peer says that it takes no more calls; it finishes those it has. */
export const LEAVING_EVENT = "leaving";
/** What its callers then call, to say that they have heard it. */
export const HEARD_METHOD = "heardLeaving";
/** The problem of a peer that has said that it leaves; what comes of that is told no more. */
export const HAS_LEFT = "it has left";

export class PeerLink {
  readonly name: string;
  readonly #address: PeerAddress;
  readonly #secret: ClusterSecret;
  readonly #limits: Partial<PeerLimits>;
  readonly #hooks: PeerLinkHooks;
  readonly #closing = new AbortController();
  readonly #served: Promise<void>;
  #client: RpcClient | null = null;
  #isLeaving = false;
  #isRetired = false;
  #inFlight = 0;
  #problem: string | null | undefined;

  constructor(
    address: PeerAddress,
    secret: ClusterSecret,
    hooks: PeerLinkHooks = {},
    limits: Partial<PeerLimits> = {},
  ) {
    this.name = peerName(address);
    this.#address = address;
    this.#secret = secret;
    this.#hooks = hooks;
    this.#limits = limits;
    this.#served = this.#keepConnected();
  }

  /** Whether calls go there. */
  get isOpen(): boolean {
    return this.#client !== null && !this.#isLeaving;
  }

  /** Calls that wait for an answer, each by its weight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Throws `PeerFailure` where the peer has not answered, and what the call itself throws. */
  async call(method: string, args: readonly unknown[], options: PeerCallOptions = {}): Promise<unknown> {
    const client = this.#client;
    if (client === null || (this.#isLeaving && options.goesOn !== true)) throw new PeerFailure("refused");
    let fate: PeerFate | undefined;
    const onReport = (report: unknown): void => {
      const told = report as PeerReport;
      fate = told.fate;
      if (told.call !== undefined) options.onReport?.(told.call);
    };
    const { weight = 1 } = options;
    this.#inFlight += weight;
    try {
      return await client.call(method, args, { ...options, onReport });
    } catch (error) {
      throw fate === undefined ? error : new PeerFailure(fate, { cause: error });
    } finally {
      this.#inFlight -= weight;
    }
  }

  /** Begins nothing more there. What was begun goes on until the peer ends the connection, or for a while. */
  async retire(): Promise<void> {
    if (this.#client === null) return this.close();
    this.#isLeaving = true;
    this.#isRetired = true;
    const timer = setTimeout(() => this.#closing.abort(), RETIRE_MS).unref();
    await this.#served;
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#served;
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    for (let pause = FIRST_BACKOFF_MS; !signal.aborted; pause = Math.min(2 * pause, LONGEST_BACKOFF_MS)) {
      try {
        await this.#connection(signal);
        pause = FIRST_BACKOFF_MS;
        this.#tell("the connection has ended");
      } catch (error) {
        this.#tell(error instanceof Error ? error.message : String(error));
      }
      if (this.#isRetired) return;
      await sleep(pause * (0.5 + Math.random()), null, { signal }).catch(() => {});
    }
  }

  /** Resolves when a connection that was made has ended. */
  async #connection(signal: AbortSignal): Promise<void> {
    const connect = () => connectToPeer(this.#address, this.#secret, this.#limits, signal);
    const calls = await connect();
    const signs = await connect().catch((error: unknown) => {
      calls.close();
      throw error;
    });
    const { client, watched } = this.#clientsOf(calls, signs);
    const watch = new HangWatch(watched, DEAD_LOOKS);
    const timers: NodeJS.Timeout[] = [];
    let end = (): void => {};
    try {
      await new Promise<void>((resolve) => {
        for (const channel of [calls, signs]) channel.onClose(resolve);
        if (calls.closed || signs.closed || signal.aborted) return resolve();
        end = () => resolve();
        signal.addEventListener("abort", end, { once: true });
        timers.push(setInterval(() => watch.look() && resolve(), LOOK_MS).unref());
        timers.push(setInterval(() => client.ping(), SIGN_MS).unref());
        this.#isLeaving = false;
        this.#client = client;
        this.#tell(null);
      });
    } finally {
      this.#client = null;
      // A peer may come and go for as long as this process runs.
      signal.removeEventListener("abort", end);
      for (const timer of timers) clearInterval(timer);
      for (const channel of [calls, signs]) channel.close();
      client.rejectAll();
    }
  }

  #clientsOf(calls: Channel, signs: Channel): { readonly client: RpcClient; readonly watched: RpcClient } {
    const closedError = (isSent: boolean): Error => new PeerFailure(isSent ? "lost" : "refused");
    const client: RpcClient = new RpcClient(calls, {
      closedError,
      onUnclaimed: (value) => this.#hooks.onUnclaimed?.(value, this),
      onEvent: (name, value) => {
        if (name === LEAVING_EVENT) this.#leave(client);
        else this.#hooks.onEvent?.(name, value, this);
      },
    });
    const watched: RpcClient = new RpcClient(signs, {
      closedError,
      onEvent: (name) => name === LEAVING_EVENT && hear(watched),
    });
    return { client, watched };
  }

  #leave(client: RpcClient): void {
    this.#isLeaving = true;
    hear(client);
    this.#tell(HAS_LEFT);
  }

  #tell(problem: string | null): void {
    if (problem !== null && this.#problem === HAS_LEFT) return;
    if (problem === this.#problem || this.#isRetired || this.#closing.signal.aborted) return;
    this.#problem = problem;
    this.#hooks.onChange?.(this, problem);
  }
}

/** What was sent before is there before this: a peer that leaves then knows all that it was asked. */
function hear(client: RpcClient): void {
  // A peer of an earlier version refuses it.
  client.call(HEARD_METHOD, []).catch(() => {});
}

/** An engine as other servers call it. What a connection has begun ends with it. */
import type { PeerService, PeerSession } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import type { Engine, EngineOptions, ResultBatch } from "../engine.ts";
import { isSignalled } from "../host/host-protocol.ts";
import { packIfLong } from "../host/pack-if-long.ts";
import { tenantOf } from "../host/tenant-of.ts";
import { NODE_METHODS, isNodeMethod } from "./node-methods.ts";

interface ServedEngine extends Engine {
  /** Whether it answers now. */
  readonly responsive: boolean;
  /** It hands calls to a process of its own, and does not look into what is large in them. */
  readonly relays?: boolean;
  /** As `PeerService` has it, for an engine that makes changes later than it was asked for them. */
  readonly heed?: PeerService["heed"];
}

export function engineService(engine: ServedEngine): PeerService {
  return {
    isReady: () => engine.responsive,
    connect: () => new EngineSession(engine),
    heed: (callersWait) => engine.heed?.(callersWait),
  };
}

/** Their last argument is the cursor. */
const CONTINUING: ReadonlySet<string> = new Set<keyof Engine>(["nextBatch", "askPartition", "closeRead"]);
/** Large ones come packed, and go on so. */
const RELAYED: ReadonlySet<string> = new Set<keyof Engine>([
  "write",
  "writeAsGiven",
  "commit",
  "beginPartition",
]);
/** Of one gateway, as far as is known here: the engine ends those that nobody goes on with. */
const MOST_READS = 10_000;

class EngineSession implements PeerSession {
  readonly ownerOf = tenantOf;
  readonly #engine: ServedEngine;
  /** Cursors of reads that may go on. No other connection's can be asked for. */
  readonly #reads = new Set<number>();
  #isClosed = false;
  readonly open = {
    count: () => this.#reads.size,
    isPartOf: (method: string) => isNodeMethod(method) && NODE_METHODS[method] === "pinned",
  };

  constructor(engine: ServedEngine) {
    this.#engine = engine;
  }

  /** What another node does in its place where this one is given up; the rest changes nothing, or does the same twice. */
  readonly changes = (method: string): boolean => isNodeMethod(method) && NODE_METHODS[method] === "once";

  readonly relays = (method: string): boolean => this.#engine.relays === true && RELAYED.has(method);

  readonly handle: PeerSession["handle"] = async (method, args, options) => {
    if (!isNodeMethod(method)) throw new SheafError("internal", `a search node has no method ${method}`);
    const continued = CONTINUING.has(method) ? args.at(-1) : null;
    if (continued !== null && !this.#reads.has(continued as number)) {
      if (method === "closeRead") return undefined;
      throw new SheafError("unavailable", "the read has ended; begin it again", { retryAfterSeconds: 1 });
    }
    const target = this.#engine[method] as (...args: readonly unknown[]) => Promise<unknown>;
    const last: EngineOptions = { signal: options.signal, onReport: (report) => options.onReport(report) };
    const result = await target.apply(this.#engine, isSignalled(method) ? [...args, last] : [...args]);
    if (method !== "askPartition") this.#reads.delete(continued as number);
    if (typeof result === "object" && result !== null && "cursor" in result)
      this.#hold(result as ResultBatch);
    if (method === "nextBatch") await packIfLong(result as ResultBatch, options.signal);
    return result;
  };

  close(): void {
    this.#isClosed = true;
    for (const cursor of this.#reads) this.#end(cursor);
    this.#reads.clear();
  }

  #hold({ cursor }: ResultBatch): void {
    if (cursor === null) return;
    if (this.#isClosed) {
      this.#end(cursor);
      return;
    }
    const [oldest] = this.#reads;
    if (oldest !== undefined && this.#reads.size >= MOST_READS) {
      this.#reads.delete(oldest);
      this.#end(oldest);
    }
    this.#reads.add(cursor);
  }

  #end(cursor: number): void {
    // An engine that has ended has no reads.
    this.#engine.closeRead(cursor).catch(() => undefined);
  }
}

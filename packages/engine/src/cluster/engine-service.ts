/** An engine as other servers call it. What a connection has begun ends with it. */
import type { PeerService, PeerSession } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import type { Engine, EngineOptions, ResultBatch } from "../engine.ts";
import { isSignalled } from "../host/host-protocol.ts";
import { packIfLong } from "../host/pack-if-long.ts";
import { tenantOf } from "../host/tenant-of.ts";
import { NODE_METHODS, isNodeMethod } from "./node-methods.ts";

/** @param engine `responsive`: whether it answers now. */
export function engineService(engine: Engine & { readonly responsive: boolean }): PeerService {
  return { isReady: () => engine.responsive, connect: () => new EngineSession(engine) };
}

/** Their last argument is the cursor. */
const CONTINUING: ReadonlySet<string> = new Set<keyof Engine>(["nextBatch", "askPartition", "closeRead"]);
/** Of one gateway, as far as is known here: the engine ends those that nobody goes on with. */
const MOST_READS = 10_000;

class EngineSession implements PeerSession {
  readonly ownerOf = tenantOf;
  readonly #engine: Engine;
  /** Cursors of reads that may go on. No other connection's can be asked for. */
  readonly #reads = new Set<number>();
  #isClosed = false;
  readonly open = {
    count: () => this.#reads.size,
    isPartOf: (method: string) => isNodeMethod(method) && NODE_METHODS[method] === "pinned",
  };

  constructor(engine: Engine) {
    this.#engine = engine;
  }

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

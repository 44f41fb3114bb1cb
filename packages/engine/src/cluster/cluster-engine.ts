/**
 * The engine of a gateway that keeps nothing: each call goes to a search node. A collection belongs to the node that rendezvous
 * hashing says, and what a tenant's catalog is asked to the node of the tenant. That is for speed alone: every node serves
 * everything, so a call whose node fails goes to the next one, unless it changes something that may have been changed already.
 */
import {
  CallBudget,
  type ClusterSecret,
  HedgeDelay,
  type PeerAddress,
  type PeerCallRules,
  type PeerLink,
  PeerPool,
  callPeers,
} from "@sheaf/process";
import { type CollectionRef, SheafError } from "@sheaf/protocol";
import type { Engine, EngineOptions, ResultBatch } from "../engine.ts";
import type { BackupProgress, MadeBackup } from "../backup/make-backup.ts";
import type { EngineLog } from "../engine-log.ts";
import { type EngineMethod, EngineProxy } from "../host/engine-proxy.ts";
import { tenantOf } from "../host/tenant-of.ts";
import { NODE_METHODS, isNodeMethod } from "./node-methods.ts";

export interface ClusterEngineOptions {
  readonly secret: ClusterSecret;
  /** How many nodes serve reads of one collection while all are well. */
  readonly readReplicas: number;
  readonly log: EngineLog;
}

/** That are known to be open: far more than nodes let be. */
const MOST_READS = 10_000;

/** Where the read with a cursor of ours goes on. */
interface OpenRead {
  readonly link: PeerLink;
  readonly cursor: number;
}

export class ClusterEngine extends EngineProxy {
  readonly #nodes: PeerPool;
  readonly #readReplicas: number;
  readonly #budget = new CallBudget();
  /** By method: a count is done sooner than a search. */
  readonly #delays = new Map<string, HedgeDelay>();
  readonly #reads = new Map<number, OpenRead>();
  #lastRead = 0;

  constructor({ secret, readReplicas, log }: ClusterEngineOptions) {
    super();
    this.#readReplicas = readReplicas;
    this.#nodes = new PeerPool(secret, {
      onUnclaimed: (value, link) => void closeReadOf(link, value),
      onChange: ({ name }, problem) => {
        if (problem === null) log({ level: "info", message: `connected to the search node ${name}` });
        else log({ level: "warn", message: `the search node ${name} cannot be reached`, error: problem });
      },
    });
  }

  /** The search nodes that there are. */
  update(nodes: readonly PeerAddress[]): void {
    this.#nodes.update(nodes);
  }

  /** How many of them can be called. */
  get openNodes(): number {
    return this.#nodes.open.length;
  }

  /** Whether a call finds one. */
  get responsive(): boolean {
    return this.openNodes > 0;
  }

  override makeBackup(): Promise<MadeBackup> {
    return Promise.reject(
      new SheafError("failed_precondition", "the records are in a database: make a backup of that"),
    );
  }

  override backupProgress(): Promise<BackupProgress | null> {
    return Promise.resolve(null);
  }

  override async nextBatch(
    ref: CollectionRef,
    cursor: number,
    options: EngineOptions = {},
  ): Promise<ResultBatch> {
    const read = this.#reads.get(cursor);
    if (read === undefined) throw readIsOver();
    const goesOn = { ...options, goesOn: true };
    const call = { method: "nextBatch", args: [ref, read.cursor], options: goesOn, repeat: "once" } as const;
    try {
      const answer = await callPeers([read.link], call, this.#rules("nextBatch"));
      const batch = answer.value as ResultBatch;
      if (batch.cursor === null) this.#reads.delete(cursor);
      // Of one read it stays the same.
      return batch.cursor === null ? batch : { ...batch, cursor };
    } catch (error) {
      // As with an engine here, only who asks for the wrong collection may ask again.
      const mayGoOn = error instanceof SheafError && error.code === "unavailable" && read.link.isOpen;
      if (!mayGoOn) this.#reads.delete(cursor);
      throw mayGoOn || isOther(error) ? error : readIsOver(error);
    }
  }

  override async closeRead(cursor: number): Promise<void> {
    const read = this.#reads.get(cursor);
    this.#reads.delete(cursor);
    if (read !== undefined) await closeReadOf(read.link, read);
  }

  close(): Promise<void> {
    return this.#nodes.close();
  }

  /** Of a tenant, or of the server: always to the same node, which sees at once what it has changed itself. */
  protected call<M extends EngineMethod>(
    method: M,
    args: readonly unknown[],
    options: EngineOptions = {},
  ): ReturnType<Engine[M]> {
    return this.#send(this.#nodes.ranked(tenantOf(args)), method, args, options) as ReturnType<Engine[M]>;
  }

  protected onCollection<M extends EngineMethod>(
    method: M,
    ref: CollectionRef,
    args: readonly unknown[],
    options: EngineOptions = {},
  ): ReturnType<Engine[M]> {
    const ranked = this.#nodes.ranked(ref.id);
    const isRead = isNodeMethod(method) && NODE_METHODS[method] === "hedged";
    const links = isRead ? leastBusyFirst(ranked, this.#readReplicas) : ranked;
    return this.#send(links, method, [ref, ...args], options) as ReturnType<Engine[M]>;
  }

  async #send(
    links: readonly PeerLink[],
    method: EngineMethod,
    args: readonly unknown[],
    options: EngineOptions,
  ): Promise<unknown> {
    const repeat = isNodeMethod(method) ? NODE_METHODS[method] : "once";
    const call = { method, args, options, repeat: repeat === "pinned" ? "once" : repeat } as const;
    const { value, link } = await callPeers(links, call, this.#rules(method));
    return isBatch(value) ? this.#withCursor(value, link) : value;
  }

  #rules(method: string): PeerCallRules {
    let delay = this.#delays.get(method);
    if (delay === undefined) this.#delays.set(method, (delay = new HedgeDelay()));
    return { what: "search node", budget: this.#budget, delay, isOfPeer };
  }

  /** Cursors of different nodes may be the same number. */
  #withCursor(batch: ResultBatch, link: PeerLink): ResultBatch {
    if (batch.cursor === null) return batch;
    const cursor = (this.#lastRead += 1);
    const [[oldest, abandoned] = []] = this.#reads;
    if (oldest !== undefined && abandoned !== undefined && this.#reads.size >= MOST_READS) {
      this.#reads.delete(oldest);
      void closeReadOf(abandoned.link, abandoned);
    }
    this.#reads.set(cursor, { link, cursor: batch.cursor });
    return { ...batch, cursor };
  }
}

/** The copy of a collection on one node may be damaged, and is then made again; the others have theirs. */
function isOfPeer(error: unknown): boolean {
  return error instanceof SheafError && error.code === "collection_unavailable";
}

/** Of those that serve its reads, the one with the fewest calls; the first one has what was written through it already. */
function leastBusyFirst(ranked: readonly PeerLink[], replicas: number): readonly PeerLink[] {
  const [first, ...others] = ranked.slice(0, replicas).sort((a, b) => a.inFlight - b.inFlight);
  if (first === undefined) return ranked;
  return [first, ...others, ...ranked.slice(replicas)];
}

function isBatch(value: unknown): value is ResultBatch {
  return typeof value === "object" && value !== null && "cursor" in value && "lists" in value;
}

async function closeReadOf(link: PeerLink, value: unknown): Promise<void> {
  const { cursor } = (value ?? {}) as { readonly cursor?: unknown };
  // A node that cannot be reached ends reads by itself.
  if (typeof cursor === "number")
    await link.call("closeRead", [cursor], { goesOn: true }).catch(() => undefined);
}

function isOther(error: unknown): boolean {
  return !(error instanceof SheafError && error.code === "unavailable");
}

function readIsOver(cause?: unknown): SheafError {
  return new SheafError("unavailable", "the search node of the read has ended; begin the read again", {
    retryAfterSeconds: 1,
    cause,
  });
}

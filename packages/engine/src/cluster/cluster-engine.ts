/**
 * The engine of a gateway that keeps nothing: each call goes to a search node. A collection belongs to the node that rendezvous
 * hashing says, and what a tenant's catalog is asked to the node of the tenant. That is for speed alone: every node serves
 * everything, so a call whose node fails goes to the next one, unless it changes something that may have been changed already.
 */
import {
  CallBudget,
  type ClusterSecret,
  HAS_LEFT,
  HedgeDelay,
  type PeerAddress,
  type PeerCallRules,
  type PeerLink,
  PeerPool,
  callPeers,
} from "@sheaf/process";
import {
  type Collection,
  type CollectionRef,
  type DeleteRequest,
  type Facet,
  type FacetsRequest,
  type GetRequest,
  type QueryRequest,
  type SearchRequest,
  type Selector,
  SheafError,
} from "@sheaf/protocol";
import type { AskedRead, BegunPartition } from "../collection/partitions/asked-partition.ts";
import type { Partition } from "../query/partitioned/partition.ts";
import type { CollectionName, DatabaseRef, Engine, EngineOptions, ResultBatch, ToDelete } from "../engine.ts";
import type { BackupProgress, MadeBackup } from "../backup/make-backup.ts";
import type { EngineLog } from "../engine-log.ts";
import { type EngineMethod, EngineProxy } from "../host/engine-proxy.ts";
import { tenantOf } from "../host/tenant-of.ts";
import { partitionName } from "../storage/folder/partition-name.ts";
import type { DividedCollections } from "./divided-collections.ts";
import { isOfPeer, isOther, isUnavailable, isWithoutRoom, leastBusyFirst } from "./node-choice.ts";
import { NODE_METHODS, isNodeMethod, isUndoneWithoutRoom } from "./node-methods.ts";
import { packQuestion } from "./pack-question.ts";
import { PartitionCounts } from "./partition-counts.ts";

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
  readonly #partitions = new PartitionCounts((ref) => this.getCollection(ref));
  /** `null`: none of the collections that were read has partitions. */
  #divided: DividedCollections | null = null;
  #lastRead = 0;

  constructor({ secret, readReplicas, log }: ClusterEngineOptions) {
    super();
    this.#readReplicas = readReplicas;
    this.#nodes = new PeerPool(secret, {
      onUnclaimed: (value, link) => void closeReadOf(link, value),
      onChange: ({ name }, problem) => {
        if (problem === null) log({ level: "info", message: `connected to the search node ${name}` });
        else if (problem === HAS_LEFT) log({ level: "info", message: `the search node ${name} has left` });
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

  /** The one that has the name now: a node that does it late must not find another one there. */
  override async deleteCollection(name: ToDelete<CollectionName>, options?: EngineOptions): Promise<void> {
    const { id } = await this.getCollectionByName(name);
    return super.deleteCollection({ ...name, onlyId: id }, options);
  }

  /** As of a collection. */
  override async deleteDatabase(ref: ToDelete<DatabaseRef>, options?: EngineOptions): Promise<void> {
    const known = await this.getDatabase(ref).catch(notFound);
    // The node says what is missing.
    return super.deleteDatabase(known === null ? ref : { ...ref, onlyId: known.id }, options);
  }

  override get(ref: CollectionRef, request: GetRequest, options?: EngineOptions): Promise<ResultBatch> {
    const whole = (): Promise<ResultBatch> => super.get(ref, request, options);
    return this.#either(ref, whole, (divided) =>
      divided.read(ref, options, (reads, ...asked) => reads.get(request, ...asked)),
    );
  }

  override query(ref: CollectionRef, request: QueryRequest, options?: EngineOptions): Promise<ResultBatch> {
    const whole = (): Promise<ResultBatch> => super.query(ref, request, options);
    return this.#either(ref, whole, (divided) =>
      divided.read(ref, options, (reads, ...asked) => reads.query(request, ...asked)),
    );
  }

  override search(ref: CollectionRef, request: SearchRequest, options?: EngineOptions): Promise<ResultBatch> {
    const whole = (): Promise<ResultBatch> => super.search(ref, request, options);
    return this.#either(ref, whole, (divided) =>
      divided.read(ref, options, (reads, ...asked) => reads.search(request, ...asked)),
    );
  }

  override count(ref: CollectionRef, selector: Selector, options?: EngineOptions): Promise<number> {
    const whole = (): Promise<number> => super.count(ref, selector, options);
    return this.#either(ref, whole, (divided) =>
      divided.use(ref, options, (reads, ...asked) => reads.count(selector, ...asked)),
    );
  }

  override facets(
    ref: CollectionRef,
    request: FacetsRequest,
    options?: EngineOptions,
  ): Promise<readonly Facet[]> {
    const whole = (): Promise<readonly Facet[]> => super.facets(ref, request, options);
    return this.#either(ref, whole, (divided) =>
      divided.use(ref, options, (reads, ...asked) => reads.facets(request, ...asked)),
    );
  }

  override delete(ref: CollectionRef, request: DeleteRequest, options?: EngineOptions): Promise<number> {
    const whole = (): Promise<number> => super.delete(ref, request, options);
    if (request.where === null) return whole();
    return this.#either(ref, whole, (divided) => divided.delete(ref, request, options));
  }

  override async nextBatch(
    ref: CollectionRef,
    cursor: number,
    options: EngineOptions = {},
  ): Promise<ResultBatch> {
    const divided = this.#divided;
    if (divided?.open.has(cursor) === true) {
      try {
        // What was fetched before it was dropped is not handed out.
        await this.getCollection(ref);
      } catch (error) {
        if (error instanceof SheafError && error.code === "not_found") divided.open.close(cursor);
        throw error;
      }
      return divided.open.next(ref.id, cursor, options.signal);
    }
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
    this.#divided?.open.close(cursor);
    const read = this.#reads.get(cursor);
    this.#reads.delete(cursor);
    if (read !== undefined) await closeReadOf(read.link, read);
  }

  async close(): Promise<void> {
    await Promise.all([this.#divided?.close(), this.#nodes.close()]);
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
    if (isCollection(value)) this.#partitions.learn(value);
    return isBatch(value) ? this.#withCursor(value, link) : value;
  }

  /** A call that is known to be for one partition goes on at once: of two on one way, the first comes first. */
  #either<T>(
    ref: CollectionRef,
    whole: () => Promise<T>,
    divided: (collections: DividedCollections) => Promise<T>,
  ): Promise<T> {
    const known = this.#partitions.of(ref);
    return known === 1 ? whole() : this.#whenKnown(known, whole, divided);
  }

  async #whenKnown<T>(
    partitions: number | Promise<number>,
    whole: () => Promise<T>,
    divided: (collections: DividedCollections) => Promise<T>,
  ): Promise<T> {
    if ((await partitions) === 1) return whole();
    const { DividedCollections } = await import("./divided-collections.ts");
    this.#divided ??= new DividedCollections({
      getCollection: (one) => this.getCollection(one),
      begin: (...asked) => this.#beginPartition(...asked),
      deleteSelected: (...asked) => this.deleteSelected(...asked),
    });
    return divided(this.#divided);
  }

  /** On one of the nodes that serve reads of the partition. Only that one can go on with what it has begun. */
  async #beginPartition(
    ref: CollectionRef,
    partition: number,
    ...[question, ids, signal]: Parameters<Partition["begin"]>
  ): Promise<AskedRead> {
    const isLong = await packQuestion(question, ids, signal);
    const links = leastBusyFirst(this.#nodes.ranked(partitionName(ref.id, partition)), this.#readReplicas);
    const args = [ref, partition, question, ids];
    // What takes long to send is no sign of a slow node.
    const repeat = isLong ? "again" : "hedged";
    const call = { method: "beginPartition", args, options: { signal }, repeat } as const;
    // One that has to open the partition first says so after a while; the others may have it.
    const rules = { ...this.#rules("beginPartition"), isOfPeer: isUnavailable };
    const { value, link } = await callPeers(links, call, rules);
    const { state, cursor } = value as BegunPartition;
    const options = { signal, goesOn: true };
    return {
      state,
      ask: async (ask) => {
        const asked = { method: "askPartition", args: [ref, ask, cursor], options, repeat: "once" } as const;
        try {
          return (await callPeers([link], asked, this.#rules("askPartition"))).value;
        } catch (error) {
          // Begun again it goes to another node.
          if (isWithoutRoom(error)) throw readIsOver(error);
          throw isOther(error) || link.isOpen ? error : readIsOver(error);
        }
      },
      close: () => void closeReadOf(link, { cursor }),
    };
  }

  #rules(method: string): PeerCallRules {
    let delay = this.#delays.get(method);
    if (delay === undefined) this.#delays.set(method, (delay = new HedgeDelay()));
    const isUndone = isUndoneWithoutRoom(method) ? isWithoutRoom : undefined;
    return { what: "search node", budget: this.#budget, delay, isOfPeer, ...(isUndone && { isUndone }) };
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

function notFound(error: unknown): null {
  if (error instanceof SheafError && error.code === "not_found") return null;
  throw error;
}

function isBatch(value: unknown): value is ResultBatch {
  return typeof value === "object" && value !== null && "cursor" in value && "lists" in value;
}

function isCollection(value: unknown): value is Pick<Collection, "id" | "schema"> {
  return typeof value === "object" && value !== null && "schema" in value && "id" in value;
}

async function closeReadOf(link: PeerLink, value: unknown): Promise<void> {
  const { cursor } = (value ?? {}) as { readonly cursor?: unknown };
  // A node that cannot be reached ends reads by itself.
  if (typeof cursor === "number")
    await link.call("closeRead", [cursor], { goesOn: true }).catch(() => undefined);
}

function readIsOver(cause?: unknown): SheafError {
  return new SheafError("unavailable", "the search node of the read has ended; begin the read again", {
    retryAfterSeconds: 1,
    cause,
  });
}

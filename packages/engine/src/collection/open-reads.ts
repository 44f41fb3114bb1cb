/**
 * The reads that go on after their first batch, and those of partitions that others ask, by cursor. Each holds its collection
 * open, what it has selected and a ticket for former versions, until it is at its end, is closed, fails, or nobody has asked for
 * more for a while.
 *
 * Cursors begin at a random number: one that an engine host before this one gave out is of no read here.
 */
import { randomInt } from "node:crypto";
import {
  ByteBudget,
  type ByteLease,
  type CancelSignal,
  type CollectionRef,
  SheafError,
  throwIfAborted,
} from "@sheaf/protocol";
import { type OpenRead, type StartedRead, executeNext } from "../query/execute.ts";
import type { PartitionRead } from "../query/partitioned/partition.ts";
import type { ResultBatch } from "../engine.ts";
import type { CollectionHold } from "./collection-pool.ts";

/** What a read takes beside its selection; it also bounds how many there are. */
const READ_BYTES = 256 * 1024;
/** The same of a read of one partition, of which a read of the collection needs many. */
const PARTITION_BYTES = 64 * 1024;
const TENANT_BYTES = 128 * 1024 * 1024;
const ALL_BYTES = 512 * 1024 * 1024;
/** After which a read that nobody goes on with is closed. */
const IDLE_MS = 60_000;
/** Cursors are below 2^53 for as long as anybody counts. */
const FIRST_CURSORS = 2 ** 47;

export interface OpenReadsOptions {
  readonly idleMs?: number;
}

/** What keeps the collection of a read open. */
export type ReadHold = Pick<CollectionHold, "signal" | "release">;

interface Entry {
  readonly collection: string;
  readonly read: OpenRead | PartitionRead;
  readonly lease: ByteLease;
  /** Gives back what it holds. */
  readonly end: () => void;
  /** Aborts once it can not go on. */
  readonly signal: CancelSignal | undefined;
  /** Of it that are under way. */
  calls: number;
  usedAt: number;
}

export class OpenReads {
  readonly #entries = new Map<number, Entry>();
  readonly #idleMs: number;
  readonly #budget = new ByteBudget({
    what: "the selections of reads",
    perTenant: TENANT_BYTES,
    whole: ALL_BYTES,
  });
  #nextCursor = randomInt(FIRST_CURSORS);
  #timer: NodeJS.Timeout | undefined;

  constructor({ idleMs = IDLE_MS }: OpenReadsOptions = {}) {
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(cursor: number): boolean {
    return this.#entries.has(cursor);
  }

  /** The first batch; the read goes on unless this is all, or its caller has left. Only within a use of the collection. */
  begin(
    { first, rest }: StartedRead,
    { tenant, id }: CollectionRef,
    hold: () => ReadHold,
    signal: CancelSignal | undefined,
  ): ResultBatch {
    if (rest === null) return { ...first, cursor: null };
    const cursor = this.open(tenant, id, rest, hold);
    this.#closeWith(signal, cursor);
    return { ...first, cursor, leastBytes: rest.leastBytes };
  }

  /** Takes the read over and gives its cursor. Throws 429 or 503 where too many are open; then the read is closed. */
  open(tenant: string, collection: string, read: OpenRead, hold: () => ReadHold): number {
    let lease: ByteLease | null = null;
    try {
      lease = this.#budget.charge(tenant, READ_BYTES + read.reader.heldBytes);
      const { signal, release } = hold();
      const end = (): void => {
        read.ticket.close();
        release();
      };
      const cursor = this.#add({ collection, read, lease, end, signal });
      signal.addEventListener("abort", () => this.close(cursor), { once: true });
      return cursor;
    } catch (error) {
      lease?.release();
      read.ticket.close();
      throw error;
    }
  }

  /** Of the same bytes as the reads, for what one of a partition keeps meanwhile. */
  lease(tenant: string): ByteLease {
    return this.#budget.charge(tenant, 0);
  }

  /** As `open`, of a read that keeps its partition open by itself. @param signal Of whoever is to hear of the cursor. */
  openPartition(
    { tenant, id }: CollectionRef,
    read: PartitionRead,
    signal: CancelSignal | undefined,
  ): number {
    try {
      const lease = this.#budget.charge(tenant, PARTITION_BYTES);
      const cursor = this.#add({ collection: id, read, lease, end: () => read.close(), signal: undefined });
      this.#closeWith(signal, cursor);
      return cursor;
    } catch (error) {
      read.close();
      throw error;
    }
  }

  /** The next batch; a read whose batch fails is closed. To be called within a use of the collection. */
  async next(collection: string, cursor: number, signal: CancelSignal | undefined): Promise<ResultBatch> {
    const entry = this.#entries.get(cursor);
    const isFree = entry !== undefined && entry.calls === 0 && entry.collection === collection;
    if (!isFree || !("reader" in entry.read)) throw unknownRead();
    const { read } = entry;
    if (entry.signal !== undefined) throwIfAborted(entry.signal);
    let isOver = true;
    try {
      const { first, lists } = await this.#calling(entry, () => executeNext(read, signal));
      isOver = read.reader.isDone;
      return { first, lists, cursor: isOver ? null : cursor };
    } finally {
      if (isOver) this.close(cursor);
    }
  }

  /** Asks a read of a partition, which is closed where the caller leaves. */
  async ask<T>(
    collection: string,
    cursor: number,
    signal: CancelSignal | undefined,
    work: (read: PartitionRead) => Promise<T>,
  ): Promise<T> {
    const entry = this.#entries.get(cursor);
    if (entry === undefined || entry.collection !== collection || "reader" in entry.read) throw unknownRead();
    const { read } = entry;
    this.#closeWith(signal, cursor);
    return this.#calling(entry, () => work(read));
  }

  /** Of a read that is closed already it does nothing. */
  close(cursor: number): void {
    const entry = this.#entries.get(cursor);
    if (entry === undefined) return;
    this.#entries.delete(cursor);
    entry.lease.release();
    entry.end();
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #add(entry: Omit<Entry, "calls" | "usedAt">): number {
    const cursor = this.#nextCursor++;
    this.#entries.set(cursor, { ...entry, calls: 0, usedAt: performance.now() });
    this.#timer ??= setInterval(() => this.#closeIdle(), this.#idleMs / 4).unref();
    return cursor;
  }

  /** Whoever leaves before it has the cursor cannot close the read. */
  #closeWith(signal: CancelSignal | undefined, cursor: number): void {
    if (signal?.aborted === true) this.close(cursor);
    else signal?.addEventListener("abort", () => this.close(cursor), { once: true });
  }

  async #calling<T>(entry: Entry, work: () => Promise<T>): Promise<T> {
    entry.calls += 1;
    try {
      return await work();
    } finally {
      entry.calls -= 1;
      entry.usedAt = performance.now();
    }
  }

  #closeIdle(): void {
    const before = performance.now() - this.#idleMs;
    for (const [cursor, { calls, usedAt }] of this.#entries)
      if (calls === 0 && usedAt < before) this.close(cursor);
  }
}

function unknownRead(): SheafError {
  return new SheafError("unavailable", "the read has ended; try again", { retryAfterSeconds: 1 });
}

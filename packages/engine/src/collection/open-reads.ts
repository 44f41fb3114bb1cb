/**
 * The reads that go on after their first batch, by cursor. Each holds its collection open, what it has selected and a
 * ticket for former versions, until it is at its end, is closed, fails, or nobody has asked for a batch for a while.
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
import type { ResultBatch } from "../engine.ts";
import type { CollectionHold } from "./collection-pool.ts";

/** What a read takes beside its selection; it also bounds how many there are. */
const READ_BYTES = 256 * 1024;
const TENANT_BYTES = 128 * 1024 * 1024;
const ALL_BYTES = 512 * 1024 * 1024;
/** After which a read that nobody goes on with is closed. */
const IDLE_MS = 60_000;
/** Cursors are below 2^53 for as long as anybody counts. */
const FIRST_CURSORS = 2 ** 47;

export interface OpenReadsOptions {
  readonly idleMs?: number;
}

interface Entry {
  readonly collection: string;
  readonly read: OpenRead;
  readonly hold: CollectionHold;
  readonly lease: ByteLease;
  busy: boolean;
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

  /** The first batch; the read goes on unless this is all, or its caller has left. Only within a use of the collection. */
  begin(
    { first, rest }: StartedRead,
    { tenant, id }: CollectionRef,
    hold: () => CollectionHold,
    signal: CancelSignal,
  ): ResultBatch {
    if (rest === null) return { ...first, cursor: null };
    const cursor = this.open(tenant, id, rest, hold);
    // Whoever leaves before it has the cursor cannot close the read.
    if (signal.aborted) this.close(cursor);
    else signal.addEventListener("abort", () => this.close(cursor), { once: true });
    return { ...first, cursor, leastBytes: rest.leastBytes };
  }

  /** Takes the read over and gives its cursor. Throws 429 or 503 where too many are open; then the read is closed. */
  open(tenant: string, collection: string, read: OpenRead, hold: () => CollectionHold): number {
    let lease: ByteLease | null = null;
    try {
      lease = this.#budget.charge(tenant, READ_BYTES + read.reader.heldBytes);
      const held = hold();
      const cursor = this.#nextCursor++;
      const entry = { collection, read, hold: held, lease, busy: false, usedAt: performance.now() };
      this.#entries.set(cursor, entry);
      held.signal.addEventListener("abort", () => this.close(cursor), { once: true });
      this.#timer ??= setInterval(() => this.#closeIdle(), this.#idleMs / 4).unref();
      return cursor;
    } catch (error) {
      lease?.release();
      read.ticket.close();
      throw error;
    }
  }

  /** The next batch; a read whose batch fails is closed. To be called within a use of the collection. */
  async next(collection: string, cursor: number, signal: CancelSignal): Promise<ResultBatch> {
    const entry = this.#entries.get(cursor);
    if (entry === undefined || entry.busy || entry.collection !== collection) throw unknownRead();
    throwIfAborted(entry.hold.signal);
    entry.busy = true;
    let isOver = true;
    try {
      const { first, lists } = await executeNext(entry.read, signal);
      isOver = entry.read.reader.isDone;
      return { first, lists, cursor: isOver ? null : cursor };
    } finally {
      entry.busy = false;
      entry.usedAt = performance.now();
      if (isOver) this.close(cursor);
    }
  }

  /** Of a read that is closed already it does nothing. */
  close(cursor: number): void {
    const entry = this.#entries.get(cursor);
    if (entry === undefined) return;
    this.#entries.delete(cursor);
    entry.read.ticket.close();
    entry.lease.release();
    entry.hold.release();
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #closeIdle(): void {
    const before = performance.now() - this.#idleMs;
    for (const [cursor, { busy, usedAt }] of this.#entries) if (!busy && usedAt < before) this.close(cursor);
  }
}

function unknownRead(): SheafError {
  return new SheafError("unavailable", "the read has ended; try again", { retryAfterSeconds: 1 });
}

/**
 * The open collections, and partitions of some, by name. A collection opens with its first use and stays open while it is used or
 * dirty; beyond the limit, and where the memory of indexes is short, the least recently used idle one is closed. A store is open twice at a time
 * only while a fork copies one that was closed when the copy began.
 */
import { type CancelSignal, Cancellation, SheafError, throwIfAborted } from "@sheaf/protocol";
import { unknownCollection } from "../catalog/collection-entries.ts";
import type { IndexMemory } from "../storage/files/index-memory.ts";
import type { EngineLog } from "../engine-log.ts";
import type { OpenCollection } from "./open-collection.ts";
import type { HeldByCollection, OpenLimits } from "./open-limit.ts";
import { namesOf } from "../storage/folder/partition-name.ts";
import { MemoryRelief } from "./indexed/memory-relief.ts";
import { OpeningProgress } from "./opening/opening-progress.ts";

export interface CollectionPoolOptions extends OpenLimits {
  /** Throws 404 for a collection that no longer exists. */
  readonly open: (id: string, opening: PooledOpening, dropped: CancelSignal) => Promise<OpenCollection>;
  /** Where too much is taken of it, collections that nobody uses are closed. */
  readonly memory: IndexMemory;
  /** What is said of the openings of a collection. */
  readonly log: EngineLog;
  /** An error of a use as its caller may see it. */
  readonly refusal: (error: unknown, id: string) => unknown;
  /** How long a use waits for an opening; by default 10 s. */
  readonly waitMs?: number;
  readonly onProblem: (error: unknown) => void;
}

/** What a use needs of its collection: a write needs no index. */
export type NeededParts = "index" | "records";

export interface PooledOpening {
  readonly progress: OpeningProgress;
  readonly needs: NeededParts;
}

export interface CollectionHold {
  readonly signal: CancelSignal;
  /** Runs `work`, before whose end the collection is not closed. Throws the reason of `signal` where that has aborted. */
  use<T>(work: () => Promise<T>): Promise<T>;
  release(): void;
}

/** Much less than a request may take. An opening from index files takes less than a second, one of all records minutes. */
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 5;
/** Descriptors of more collections are counted this seldom: it takes longer than a small request. */
const MANY_OPEN = 64;
const OPENINGS_PER_COUNT = 16;
/** Of those that cannot be closed yet. */
const LOOKED_AT_PER_USE = 16;
/** More that is not sealed would take longer to read again than to seal. */
const MOST_READ_AGAIN = 64 * 2 ** 20;

interface Slot {
  readonly opening: Promise<OpenCollection>;
  readonly progress: OpeningProgress;
  /** Once `opening` has resolved. */
  collection: OpenCollection | null;
  readonly dropped: Cancellation;
  /** One per use under way. */
  readonly users: Set<Cancellation>;
  /** One per read that goes on between its calls. */
  readonly holds: Set<Cancellation>;
  /** Last. */
  usedAt: number;
  /** It is not for new uses any more. */
  isClosing: boolean;
  idle: () => void;
}

export class CollectionPool {
  readonly #options: CollectionPoolOptions;
  /** Least recently used first. */
  readonly #slots = new Map<string, Slot>();
  readonly #slotOf = new WeakMap<OpenCollection, Slot>();
  readonly #closing = new Map<string, Promise<void>>();
  readonly #relief: MemoryRelief;
  #openings = 0;
  /** Uses that end before the collections are looked through again for some that can be closed. */
  #passes = 0;
  /** Of collections that are being closed to have this back. */
  #closingBytes = { unsealed: 0, sealed: 0 };
  #isClosed = false;
  /** Have given vectors back, as far as these could be, since all others were asked. */
  #asked = new WeakSet<Slot>();

  constructor(options: CollectionPoolOptions) {
    this.#options = options;
    options.memory.unsealed.onPressed = () => this.#evict();
    this.#relief = new MemoryRelief(options.memory, {
      close: (...asked) => this.#closeRested(...asked),
      makeRoom: () => this.#makeRoom(),
      load: () => {
        for (const { collection } of this.#slots.values()) collection?.keeper?.adapt();
      },
    });
  }

  /** Of those that are open or being opened. */
  openIds(): readonly string[] {
    return [...this.#slots.keys()];
  }

  /** The collection if it is open now. */
  peek(id: string): OpenCollection | null {
    return this.#slots.get(id)?.collection ?? null;
  }

  /** How far it is if it is being opened now. */
  progress(id: string): OpeningProgress | null {
    const slot = this.#slots.get(id);
    if (slot === undefined) return null;
    return slot.collection === null || slot.collection.indexing !== undefined ? slot.progress : null;
  }

  /** Opens the collection if needed, however long that takes. */
  async open(id: string): Promise<void> {
    await this.#closing.get(id);
    await (await this.#slot(id, "index").opening).index();
    this.#relief.look();
  }

  /**
   * Opens the collection if needed and runs `work` on it. Aborts when `signal` does and when the collection is
   * dropped, which is a 404. 503 where the opening takes long; it goes on.
   */
  async use<T>(
    id: string,
    signal: CancelSignal | undefined,
    work: (collection: OpenCollection, signal: CancelSignal) => Promise<T>,
    needs: NeededParts = "index",
  ): Promise<T> {
    for (let closing = this.#closing.get(id); closing !== undefined; closing = this.#closing.get(id))
      await this.#inTime(closing, signal);
    throwIfAborted(signal);
    const slot = this.#slot(id, needs);
    const user = new Cancellation();
    const abort = (): void => user.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    slot.users.add(user);
    try {
      const collection = slot.collection ?? (await this.#inTime(slot.opening, user));
      // Calls take effect in the order they came: a write waits behind a read that waits for the index.
      const indexing = needs === "index" ? collection.index() : collection.indexing;
      if (indexing !== undefined) await this.#inTime(indexing, user);
      return await work(collection, user);
    } catch (error) {
      if (slot.dropped.aborted) throw slot.dropped.reason;
      throw this.#options.refusal(slot.collection?.explain(error) ?? error, id);
    } finally {
      signal?.removeEventListener("abort", abort);
      left(slot, user);
      if (slot.collection?.broken === true && this.#slots.get(id) === slot) this.#close(id, slot);
      this.#evict();
    }
  }

  /**
   * Keeps the collection open until `release` is called; only within a `use` of it. The signal aborts when it is to be
   * closed all the same: 404 where it is dropped. Throws that reason where it is being closed already.
   */
  hold(collection: OpenCollection): CollectionHold {
    const slot = this.#slotOf.get(collection)!;
    if (slot.isClosing) throw closingReason(slot);
    const signal = new Cancellation();
    slot.holds.add(signal);
    const release = (): void => {
      slot.holds.delete(signal);
      slot.usedAt = performance.now();
      this.#evict();
    };
    const use = async <T>(work: () => Promise<T>): Promise<T> => {
      throwIfAborted(signal);
      const user = new Cancellation();
      slot.users.add(user);
      try {
        return await work();
      } finally {
        left(slot, user);
      }
    };
    return { signal, use, release };
  }

  /** Ends all uses of a collection that no longer exists and closes it; then its files may go. */
  async drop(id: string): Promise<void> {
    const names = namesOf(id);
    for (const name of names) {
      const slot = this.#slots.get(name);
      if (slot === undefined) continue;
      slot.dropped.abort(unknownCollection(id));
      for (const user of slot.users) user.abort(unknownCollection(id));
      this.#close(name, slot);
    }
    for (const name of names) await this.#closing.get(name);
  }

  /** Nobody uses the collection now, and nothing of it is under way. */
  isIdle(id: string): boolean {
    const slot = this.#slots.get(id);
    if (slot === undefined) return !this.#closing.has(id);
    return isIdle(slot);
  }

  /** Runs `work` while the collection is closed; uses of it wait, for a while, until it may be opened again. */
  async whileClosed<T>(id: string, work: () => Promise<T>): Promise<T> {
    for (let closing = this.#closing.get(id); closing !== undefined; closing = this.#closing.get(id))
      await closing;
    const slot = this.#slots.get(id);
    this.#slots.delete(id);
    const done = (slot === undefined ? Promise.resolve() : this.#closed(slot)).then(work);
    this.#untilReopened(id, done);
    return done;
  }

  /** After the uses under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#relief.close();
    for (const [id, slot] of this.#slots) this.#close(id, slot);
    await Promise.all(this.#closing.values());
  }

  #slot(id: string, needs: NeededParts): Slot {
    const known = this.#slots.get(id);
    if (known !== undefined) {
      this.#slots.delete(id);
      this.#slots.set(id, known);
      known.usedAt = performance.now();
      return known;
    }
    // What a use of a divided collection would open while that is being closed.
    if (this.#isClosed) throw new SheafError("unavailable", "the engine is being closed");
    const isCounted = this.#slots.size < MANY_OPEN || ++this.#openings % OPENINGS_PER_COUNT === 0;
    this.#evict(isCounted ? this.#excessDescriptors() : 0);
    const dropped = new Cancellation();
    const progress = new OpeningProgress((message) =>
      this.#options.log({ level: "info", message, collection: id }),
    );
    const opening = this.#options.open(id, { progress, needs }, dropped);
    const slot: Slot = {
      opening,
      progress,
      collection: null,
      dropped,
      users: new Set(),
      holds: new Set(),
      usedAt: performance.now(),
      isClosing: false,
      idle: () => {},
    };
    this.#slots.set(id, slot);
    opening.then(
      (collection) => {
        slot.collection = collection;
        this.#slotOf.set(collection, slot);
      },
      // The users hear of it; the next use tries again.
      () => {
        if (this.#slots.get(id) === slot) this.#slots.delete(id);
      },
    );
    return slot;
  }

  /** 503 where it takes long. */
  #inTime<T>(opening: Promise<T>, signal: CancelSignal | undefined): Promise<T> {
    const limit = this.#options.waitMs ?? WAIT_MS;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(beingOpened()), limit).unref();
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      void opening.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  #excessDescriptors(): number {
    let taken = 0;
    for (const { collection } of this.#slots.values()) taken += collection?.held.descriptors ?? 0;
    return taken - this.#options.maxDescriptors;
  }

  /** `descriptors`: so many are to be given back. */
  #evict(descriptors = 0): void {
    this.#relief.look();
    let excess = this.#slots.size - this.#options.maxOpen;
    let bytes = this.#options.memory.unsealed.excess - this.#closingBytes.unsealed;
    const isUrgent = descriptors > 0 || bytes > 0;
    if (!isUrgent && this.#passes-- > 0) return;
    this.#passes = 0;
    for (const [id, slot] of this.#slots) {
      if (excess <= 0 && descriptors <= 0 && bytes <= 0) return;
      if (!isIdle(slot)) continue;
      const { held } = slot.collection;
      const isWorth = held.unsealedBytes > 0 && held.unsealedBytes <= MOST_READ_AGAIN;
      if (excess <= 0 && descriptors <= 0 && !isWorth) continue;
      this.#close(id, slot, held);
      descriptors -= held.descriptors;
      bytes -= held.unsealedBytes;
      excess -= 1;
    }
    // All others are in use or dirty, and with many writers of many collections these are many.
    this.#passes = Math.floor(this.#slots.size / LOOKED_AT_PER_USE);
  }

  /**
   * Closes collections whose index is in files, and which were not used for so long, until so many bytes of it are given
   * back or about to be: the least recently used first. Says how many are lacking.
   */
  #closeRested(bytes: number, restedMs: number): number {
    const since = performance.now() - restedMs;
    let lacking = bytes - this.#closingBytes.sealed - this.#closingBytes.unsealed;
    for (const [id, slot] of this.#slots) {
      if (lacking <= 0) break;
      if (slot.usedAt > since || !isIdle(slot) || slot.collection.keeper?.isAtRest !== true) continue;
      const { held } = slot.collection;
      if (held.sealedBytes === 0 || held.unfiledBytes > 0 || held.unsealedBytes > MOST_READ_AGAIN) continue;
      this.#close(id, slot, held);
      lacking -= held.sealedBytes + held.unsealedBytes;
    }
    return lacking;
  }

  /** Of those that stay, has one give vectors back: the next one each time, from the least recently used on. */
  #makeRoom(): void {
    const holders = [...this.#slots.values()].filter(({ collection }) => collection?.held.vectorBytes);
    const next = holders.find((slot) => !this.#asked.has(slot));
    if (next === undefined) this.#asked = new WeakSet();
    const asked = next ?? holders[0];
    if (asked === undefined) return;
    this.#asked.add(asked);
    asked.collection?.keeper?.adapt();
  }

  #close(
    id: string,
    slot: Slot,
    { unsealedBytes = 0, sealedBytes = 0 }: Partial<HeldByCollection> = {},
  ): void {
    this.#slots.delete(id);
    this.#closingBytes.unsealed += unsealedBytes;
    this.#closingBytes.sealed += sealedBytes;
    const closed = this.#closed(slot).finally(() => {
      this.#closingBytes.unsealed -= unsealedBytes;
      this.#closingBytes.sealed -= sealedBytes;
    });
    this.#untilReopened(id, closed);
  }

  /** It cannot be opened before that. */
  #untilReopened(id: string, done: Promise<unknown>): void {
    const closing = done.then(
      () => {},
      () => {},
    );
    const reopened = closing.then(() => {
      if (this.#closing.get(id) === reopened) this.#closing.delete(id);
    });
    this.#closing.set(id, reopened);
  }

  async #closed(slot: Slot): Promise<void> {
    slot.isClosing = true;
    for (const hold of slot.holds) hold.abort(closingReason(slot));
    await closeSlot(slot).catch(this.#options.onProblem);
  }
}

/** A use is over. */
function left(slot: Slot, user: Cancellation): void {
  slot.users.delete(user);
  slot.usedAt = performance.now();
  if (slot.users.size === 0) slot.idle();
}

/** Nobody uses it, and nothing of it is under way. */
function isIdle(slot: Slot): slot is Slot & { readonly collection: OpenCollection } {
  return slot.users.size === 0 && slot.holds.size === 0 && slot.collection?.settled === true;
}

/** For reads that would go on. */
function closingReason({ dropped }: Slot): unknown {
  if (dropped.aborted) return dropped.reason;
  return new SheafError("unavailable", "the collection is being closed; try again", { retryAfterSeconds: 1 });
}

async function closeSlot(slot: Slot): Promise<void> {
  const [opened] = await Promise.allSettled([slot.opening]);
  if (slot.users.size > 0) await new Promise<void>((resolve) => (slot.idle = resolve));
  if (opened.status === "fulfilled") await opened.value.close();
}

function beingOpened(): SheafError {
  const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new SheafError("unavailable", "the collection is being opened; try again", retry);
}

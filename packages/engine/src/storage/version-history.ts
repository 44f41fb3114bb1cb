/**
 * Former versions of records, for reads that go on while writers change the collection. A read sees one state of the
 * index although it looks into the store in many short transactions: what a commit overwrites or removes while such a
 * read is open is kept here until every read that may still show it has closed.
 *
 * Invariants: a ticket finds every version that the index showed at any moment since it was opened, unless it has
 * `ended`: over the bound of bytes the oldest tickets end first. A change is in the store before it is in the index, so
 * what it replaces is kept until then at least.
 */
import { CorruptDataError } from "./corrupt-data-error.ts";
import { DataAbsent } from "./data-absent.ts";
import { recordBytes } from "./values/record-bytes.ts";
import type { StoreChange, StoreView } from "./record-store.ts";
import { LOOKED_AT_PER_STEP } from "./steps.ts";
import type { StoredRecord } from "./stored-record.ts";

export interface HistoryBounds {
  /** Bytes of the former versions of one collection. */
  readonly perCollection: number;
  /** Of all collections that share these bounds. */
  readonly whole: number;
}

/** Of one collection, or of all together. */
export type MemoryShare = "collection" | "whole";

/** What a version takes beside its contents: objects, its place in the maps, small buffers. */
const VERSION_BYTES = 512;

const MOST_PER_COLLECTION = 64 * 1024 * 1024;
const MOST_BYTES = 256 * 1024 * 1024;
/** Of the memory of indexes. */
const INDEX_SHARE = 1 / 8;

/** @param indexMemory Of all indexes, in bytes. */
export function historyBounds(indexMemory = Infinity): HistoryBounds {
  const whole = Math.min(MOST_BYTES, indexMemory * INDEX_SHARE);
  return { perCollection: Math.min(MOST_PER_COLLECTION, whole), whole };
}

/** What all collections of an engine hold together. */
export class HistoryMemory {
  readonly bounds: HistoryBounds;
  held = 0;

  constructor(bounds = historyBounds()) {
    this.bounds = bounds;
  }
}

/** What is asked of the store before a change. */
type ReplacedState = Pick<StoreView, "head" | "read" | "require">;
type Replacements = Pick<StoreChange, "puts" | "removes">;

interface Version {
  readonly record: StoredRecord;
  readonly bytes: number;
  /** When the index heard that it was replaced, as tickets count; infinite until then. */
  at: number;
}

export class VersionHistory {
  readonly #memory: HistoryMemory;
  /** Oldest first. */
  readonly #tickets = new Set<ReadTicket>();
  /** Oldest first, by offset. */
  readonly #byOffset = new Map<number, Version[]>();
  /** Oldest first. */
  #versions: Version[] = [];
  #bytes = 0;
  #time = 0;
  /** Changes under way of which nothing was kept, each settled when the index has it. */
  readonly #uncovered = new Set<Promise<void>>();

  constructor(memory: HistoryMemory = new HistoryMemory()) {
    this.#memory = memory;
  }

  /** Reads that are open. */
  get openReads(): number {
    return this.#tickets.size;
  }

  /**
   * Keeps what a planned change replaces, a record in each step; to be called with the state before it. The caller calls
   * what it returns once the index has the change, or the change has failed. A read that opens meanwhile is covered as
   * those before it, or waits.
   */
  *keep(view: ReplacedState, change: Replacements): Generator<void, () => void> {
    const kept: Version[] = [];
    if (this.#tickets.size > 0) this.#require(view, change);
    try {
      for (const offset of replacedInSteps(view, change)) {
        if (this.#tickets.size === 0) break;
        const version = offset === null ? null : this.#keepOne(view, offset);
        if (version !== null) kept.push(version);
        yield;
      }
    } catch (error) {
      // What was kept goes with the oldest ticket.
      this.#settle(kept);
      throw error;
    }
    if (this.#tickets.size > 0) return () => this.#settle(kept);
    this.#settle(kept);
    return this.#uncover();
  }

  /** Nobody reads any more, and nothing is told of changes. */
  close(): void {
    this.#memory.held -= this.#bytes;
    [this.#bytes, this.#versions] = [0, []];
    this.#byOffset.clear();
  }

  /** `null`: a change is under way that may make the newest snapshot stale. */
  tryOpen(): ReadTicket | null {
    return this.#uncovered.size > 0 ? null : this.#open();
  }

  /** Covers every snapshot that is taken after it resolves. */
  async open(): Promise<ReadTicket> {
    const ticket = this.#open();
    await Promise.all(this.#uncovered);
    return ticket;
  }

  #open(): ReadTicket {
    const ticket = new ReadTicket(++this.#time, {
      find: (offset, sequence) => this.#find(offset, sequence),
      close: (closed) => this.#close(closed),
    });
    this.#tickets.add(ticket);
    return ticket;
  }

  #find(offset: number, sequence: number): StoredRecord | null {
    const versions = this.#byOffset.get(offset) ?? [];
    return versions.find(({ record }) => record.sequence === sequence)?.record ?? null;
  }

  #uncover(): () => void {
    let settle: () => void = () => {};
    const change = new Promise<void>((resolve) => (settle = resolve));
    this.#uncovered.add(change);
    return () => {
      this.#uncovered.delete(change);
      settle();
    };
  }

  /** Throws `DataAbsent` where some has to be fetched; tickets end where that is more than could be kept. */
  #require(view: ReplacedState, change: Replacements): void {
    try {
      view.require?.(replacedOffsets(view, change));
    } catch (error) {
      if (!(error instanceof DataAbsent) || error.fetch !== null) throw error;
      for (const ticket of this.#tickets) ticket.end("collection");
    }
  }

  #keepOne(view: ReplacedState, offset: number): Version | null {
    const record = readable(view, offset);
    if (record === null) return null;
    const bytes = VERSION_BYTES + record.id.length + recordBytes(record);
    const version: Version = { record, bytes, at: Infinity };
    this.#versions.push(version);
    const known = this.#byOffset.get(offset);
    if (known === undefined) this.#byOffset.set(offset, [version]);
    else known.push(version);
    this.#bytes += version.bytes;
    this.#memory.held += version.bytes;
    for (let full = this.#full; full !== null; full = this.#full) this.#endOldest(full);
    return version;
  }

  #settle(kept: readonly Version[]): void {
    const at = ++this.#time;
    for (const version of kept) version.at = at;
    this.#forget();
  }

  /** Whose share of the memory is used up while reads are open; `null`: none is. */
  get #full(): MemoryShare | null {
    const { bounds, held } = this.#memory;
    if (this.#tickets.size === 0) return null;
    if (this.#bytes > bounds.perCollection) return "collection";
    return held > bounds.whole ? "whole" : null;
  }

  #endOldest(full: MemoryShare): void {
    for (const ticket of this.#tickets) {
      ticket.end(full);
      return;
    }
  }

  #close(ticket: ReadTicket): void {
    if (this.#tickets.delete(ticket)) this.#forget();
  }

  /** What no open ticket can ask for. */
  #forget(): void {
    let oldest = Infinity;
    for (const { openedAt } of this.#tickets) {
      oldest = openedAt;
      break;
    }
    const needed = this.#versions.findIndex(({ at }) => at >= oldest);
    const forgotten = this.#versions.splice(0, needed < 0 ? this.#versions.length : needed);
    for (const { record, bytes } of forgotten) {
      this.#bytes -= bytes;
      this.#memory.held -= bytes;
      const versions = this.#byOffset.get(record.offset)!;
      versions.shift();
      if (versions.length === 0) this.#byOffset.delete(record.offset);
    }
  }
}

interface TicketSource {
  readonly find: (offset: number, sequence: number) => StoredRecord | null;
  readonly close: (ticket: ReadTicket) => void;
}

/** What a read of several batches holds while it is open. */
export class ReadTicket {
  readonly openedAt: number;
  readonly #source: TicketSource;
  #endedBy: MemoryShare | null = null;

  constructor(openedAt: number, source: TicketSource) {
    this.openedAt = openedAt;
    this.#source = source;
  }

  /** Too much was changed meanwhile to keep it: whose share of the memory it would not fit. Versions may be missing. */
  get endedBy(): MemoryShare | null {
    return this.#endedBy;
  }

  /** The version of a record with this sequence number; `null`: it is the newest, or was never seen. */
  find(offset: number, sequence: number): StoredRecord | null {
    return this.#source.find(offset, sequence);
  }

  end(by: MemoryShare): void {
    this.#endedBy = by;
    this.close();
  }

  close(): void {
    this.#source.close(this);
  }
}

function* replacedOffsets(view: ReplacedState, change: Replacements): Generator<number> {
  for (const offset of replacedInSteps(view, change)) if (offset !== null) yield offset;
}

/** `null`: a stretch of records was none of them. */
function* replacedInSteps(
  { head }: ReplacedState,
  { puts, removes }: Replacements,
): Generator<number | null> {
  for (let i = 0; i < puts.length; i++) {
    const { offset } = puts[i]!;
    if (offset < head.nextOffset) yield offset;
    else if (i % LOOKED_AT_PER_STEP === LOOKED_AT_PER_STEP - 1) yield null;
  }
  for (const { offset } of removes) yield offset;
}

/** `null`: gone, or damaged, and then no snapshot has it. */
function readable(view: ReplacedState, offset: number): StoredRecord | null {
  try {
    return view.read(offset);
  } catch (error) {
    if (error instanceof CorruptDataError) return null;
    throw error;
  }
}

/**
 * What the indexes of a process may keep in memory, for all collections together: one limit, and who has taken what of it.
 * Every sealed segment has a `SegmentMemory` that takes for it and gives everything back when the segment is closed.
 *
 * Codes are needed by every search, and what has no file yet is nowhere else; they are only counted. Vectors and copies of codes make searches faster: they are taken
 * while there is room, and what finds none is read from files. Parts of files are kept while they are used, in what is
 * left: those that were not asked for since the last round make room. A share of the limit is theirs alone.
 */
import { MOST_UNSEALED_BYTES, UnsealedMemory, unsealedBounds } from "./unsealed-memory.ts";

/**
 * `unfiled`: identities, metadata and postings of segments that were sealed, until they are in a file. `written`: what the
 * writing of a segment works with, of which some is beside the limit.
 */
export type MemoryKind = "vectors" | "codes" | "copies" | "unfiled" | "written" | "parts";

const KINDS: readonly MemoryKind[] = ["vectors", "codes", "copies", "unfiled", "written", "parts"];

/** What can be read again. */
export interface Evictable {
  readonly bytes: number;
  /** Was asked for since it was last looked at. */
  isUsed: boolean;
  evict(): void;
}

/** Of the limit, for parts of files: nothing else takes it. */
const PARTS_SHARE = 0.25;
const UNSEALED_SHARE = 0.5;
const WRITTEN_SHARE = 1 / 3;
/** Of all that indexes may have in memory, for the segment that is being written, and for what has just been let go. */
const WORK_SHARE = 1 / 4;
const MOST_WORK_BYTES = 2 ** 27;
/** Of the limit: with more in no file, the next segment waits for the files of those that were sealed. */
const UNFILED_SHARE = 1 / 8;
/** Of the limit: what is in no file beyond it, for files cannot be written then, counts as if it were not sealed. */
const MOST_UNFILED_SHARE = 1 / 4;
/** So much more than may be is too much to wait until nobody uses it. */
const FAR_BYTES = 2 ** 26;
/** Smaller segments make searches slower, and spare little beside what a process takes without any. */
const LEAST_WRITTEN_BYTES = 2 ** 27;

export class IndexMemory {
  /** What is in no segment that was sealed, with a bound of its own. */
  readonly unsealed: UnsealedMemory;
  /** What the writing of one segment may work with. */
  readonly mostWritten: number;
  readonly #limit: number;
  readonly #work: number;
  readonly #taken = nothingTaken();
  /** Those that can make room. */
  readonly #parts = new Set<Evictable>();
  #reads = 0;
  #evictions = 0;

  /** Both in bytes. `unsealed`: of the limit, for what is not sealed yet; half of it and 2 GiB at most if left out. `mostWritten`: small for tests. `work`: beside the limit, for what is written. */
  constructor(
    limit = Infinity,
    unsealed = Math.min(MOST_UNSEALED_BYTES, limit * UNSEALED_SHARE),
    mostWritten = Math.max(LEAST_WRITTEN_BYTES, limit * WRITTEN_SHARE),
    work = 0,
  ) {
    this.#limit = limit;
    this.#work = work;
    this.mostWritten = mostWritten;
    this.unsealed = new UnsealedMemory(unsealedBounds(unsealed));
  }

  /** Whose limit leaves room, within so many bytes, to what the writing of a segment works with. */
  static within(bytes = Infinity, unsealed?: number): IndexMemory {
    const work = Math.min(bytes * WORK_SHARE, MOST_WORK_BYTES);
    return new IndexMemory(bytes - work, unsealed, undefined, work);
  }

  /** Bytes that are taken, by what they are for. */
  get taken(): Readonly<Record<MemoryKind, number>> {
    return this.#taken;
  }

  get used(): number {
    return this.#fixed + this.#taken.parts;
  }

  /** Parts of files that were read, since the process started. */
  get reads(): number {
    return this.#reads;
  }

  /** Parts of files that made room. */
  get evictions(): number {
    return this.#evictions;
  }

  /** More is taken than leaves parts of files their share: vectors that files have make room. */
  get isShort(): boolean {
    return this.isShortWith(0);
  }

  /** So many bytes more would make it short: vectors that are loaded then would be given up at once, and loaded again. */
  isShortWith(bytes: number): boolean {
    return this.#beyond + bytes > 0;
  }

  /** Bytes by which it is short. */
  get shortage(): number {
    return Math.max(0, this.#beyond);
  }

  /** It is short by so much that the process takes clearly more than it was given. */
  get isFarShort(): boolean {
    return this.#beyond > Math.min(FAR_BYTES, this.#limit * PARTS_SHARE);
  }

  /** Too much of what was sealed is in no file yet. */
  get isUnfiledMuch(): boolean {
    return this.#taken.unfiled > this.#limit * UNFILED_SHARE;
  }

  forSegment(): SegmentMemory {
    return new SegmentMemory(this);
  }

  /** `false`: there is not so much left of that share of what is not for parts of files. */
  take(kind: MemoryKind, bytes: number, share = 1): boolean {
    // What is unsealed comes and goes, and vectors stay: a quarter is left to it in any case.
    const unsealed = Math.max(0, this.unsealed.bytes - this.#limit * PARTS_SHARE);
    if (this.#fixed + unsealed + bytes > this.#limit * (1 - PARTS_SHARE) * share) return false;
    this.add(kind, bytes);
    return true;
  }

  /** What is needed whether there is room or not; parts make some. */
  add(kind: MemoryKind, bytes: number): void {
    this.#taken[kind] += bytes;
    if (kind === "unfiled") this.#countUnfiled();
    this.#makeRoom(null);
  }

  /** For a part that nobody has asked for yet: it must not make others go, and leaves half of the room to them. */
  hasRoomFor(bytes: number): boolean {
    return this.#taken.parts + bytes <= (this.#limit * PARTS_SHARE) / 2;
  }

  give(kind: MemoryKind, bytes: number): void {
    this.#taken[kind] -= bytes;
    if (kind === "unfiled" && bytes > 0) this.#countUnfiled();
  }

  /** A part that was read. */
  keep(part: Evictable): void {
    this.#reads++;
    this.adopt(part);
  }

  /** One that was in memory before a file had it. */
  adopt(part: Evictable): void {
    this.#taken.parts += part.bytes;
    this.#parts.add(part);
    this.#makeRoom(part);
  }

  /** One that is kept, or may have made room. */
  drop(part: Evictable): void {
    if (this.#parts.delete(part)) this.#taken.parts -= part.bytes;
  }

  get #fixed(): number {
    return keptBytes(this.#taken) + Math.max(0, this.#taken.written - this.#work);
  }

  /** Of all that is taken but for parts of files, what these leave no room to; negative: so much is left. */
  get #beyond(): number {
    return this.#fixed + this.unsealed.bytes - this.#limit * (1 - PARTS_SHARE);
  }

  #countUnfiled(): void {
    const most = this.#limit * MOST_UNFILED_SHARE;
    this.unsealed.setUnfiled(Math.max(0, this.#taken.unfiled - most));
  }

  #makeRoom(newest: Evictable | null): void {
    const bound = Math.max(this.#limit - this.#fixed - this.unsealed.bytes, this.#limit * PARTS_SHARE);
    for (const oldest of this.#parts) {
      if (this.#taken.parts <= bound) return;
      this.#parts.delete(oldest);
      if ((oldest.isUsed || oldest === newest) && this.#parts.size > 0) {
        // Another round. The newest stays unless it is too large by itself.
        oldest.isUsed = false;
        this.#parts.add(oldest);
      } else {
        this.#taken.parts -= oldest.bytes;
        this.#evictions++;
        oldest.evict();
      }
    }
  }
}

/** What one segment has taken. */
export class SegmentMemory {
  readonly #memory: IndexMemory;
  readonly #taken = nothingTaken();
  readonly #parts = new Set<Evictable>();
  /** Cannot be read again at once. */
  readonly #pinned = new Set<Evictable>();
  #closed = false;
  /** The file is on this machine, after it was not. */
  #hasArrived = false;

  constructor(memory: IndexMemory) {
    this.#memory = memory;
  }

  /** Bytes that it has taken, by what they are for. */
  get taken(): Readonly<Record<MemoryKind, number>> {
    return this.#taken;
  }

  /** As of `IndexMemory`. */
  take(kind: MemoryKind, bytes: number, share = 1): boolean {
    if (this.#closed || !this.#memory.take(kind, bytes, share)) return false;
    this.#taken[kind] += bytes;
    return true;
  }

  /** As of `IndexMemory`. */
  isShortWith(bytes: number): boolean {
    return this.#memory.isShortWith(bytes);
  }

  /** As of `IndexMemory`. */
  hasRoomFor(bytes: number): boolean {
    return !this.#closed && this.#memory.hasRoomFor(bytes);
  }

  add(kind: MemoryKind, bytes: number): void {
    if (this.#closed) return;
    this.#taken[kind] += bytes;
    this.#memory.add(kind, bytes);
  }

  /** So much of it, in all. */
  set(kind: MemoryKind, bytes: number): void {
    this.giveBack(kind);
    this.add(kind, bytes);
  }

  /** All of a kind. */
  giveBack(kind: MemoryKind): void {
    this.#memory.give(kind, this.#taken[kind]);
    this.#taken[kind] = 0;
  }

  /** A part of the segment's file. Of a closed segment it goes with the last search that looks at it. */
  keep(part: Evictable): void {
    if (this.#closed) return;
    this.#parts.add(part);
    this.#memory.keep(part);
  }

  /** As of `IndexMemory`. */
  adopt(part: Evictable): void {
    if (this.#closed) return;
    this.#parts.add(part);
    this.#memory.adopt(part);
  }

  /** A part that stays as long as the file is not on this machine. */
  pin(part: Evictable): void {
    if (this.#closed) return;
    if (this.#hasArrived) return this.keep(part);
    this.#pinned.add(part);
    this.add("parts", part.bytes);
  }

  /** The file is here. */
  unpin(): void {
    this.#hasArrived = true;
    for (const part of this.#pinned) {
      this.#taken.parts -= part.bytes;
      this.#memory.give("parts", part.bytes);
      this.adopt(part);
    }
    this.#pinned.clear();
  }

  /** Nobody needs it any more. */
  drop(part: Evictable): void {
    if (this.#parts.delete(part)) this.#memory.drop(part);
  }

  /** Made room. */
  forget(part: Evictable): void {
    this.#parts.delete(part);
  }

  close(): void {
    this.#closed = true;
    for (const part of this.#parts) this.#memory.drop(part);
    this.#parts.clear();
    this.#pinned.clear();
    for (const kind of KINDS) this.giveBack(kind);
  }
}

/** What is in memory until its segment is closed or opened anew. */
export function keptBytes({ vectors, codes, copies, unfiled }: Readonly<Record<MemoryKind, number>>): number {
  return vectors + codes + copies + unfiled;
}

function nothingTaken(): Record<MemoryKind, number> {
  return { vectors: 0, codes: 0, copies: 0, unfiled: 0, written: 0, parts: 0 };
}

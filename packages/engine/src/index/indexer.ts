/**
 * Makes an index faster, not different, in slices of about a millisecond: gives rows of mutable segments codes, writes
 * full segments as sealed ones or has that done elsewhere, and loads codes and vectors of segments that were opened from files.
 */
import type { Space } from "@sheaf/protocol";
import { prepare } from "../kernels/distance.ts";
import type { KernelKind } from "../kernels/kernel-memory.ts";
import type { MutableSegment } from "../segment/mutable-segment.ts";
import type { CodeOptions } from "../segment/mutable-vectors.ts";
import type { LookupSegment } from "../segment/segment.ts";
import { SegmentWriter } from "../segment/segment-writer.ts";
import { relativeTo } from "../segment/dense/search-dense.ts";
import { takeRows } from "../segment/dense/take-rows.ts";
import type { RowReader } from "../storage/files/row-reader.ts";
import type { IndexMemory } from "../storage/files/index-memory.ts";
import type { BackgroundWork } from "./background-work.ts";
import { type SegmentMeta, chooseMerge, isDue } from "./merge-policy.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import type { DocBlock } from "../segment/doc-block.ts";
import { EagerColumns } from "./eager-columns.ts";
import { type FiledSegments, reopened } from "./filed-segments.ts";
import { SegmentLoader } from "./segment-loader.ts";
import { AwaitedSealing, type AwaitedSegment, LocalSealing, type Sealing } from "./sealing.ts";
import { LiveSegment, type SegmentList } from "./segment-list.ts";

/** Sources that another process could write as one segment. */
export interface SealRequest {
  readonly sources: readonly LiveSegment[];
  /** Of the new segment. */
  readonly id: number;
  /** What the vectors are relative to. */
  readonly origin: Float32Array | null;
}

/** `null`: it cannot be done elsewhere now. */
export type SealElsewhere = (request: SealRequest) => AwaitedSegment | null;

export interface IndexerOptions {
  readonly segments: SegmentList;
  readonly space: Space;
  /** Rows of the largest segment. */
  readonly segmentRows: number;
  /** Rows of a full mutable segment. */
  readonly mutableRows: number;
  /** Of all operations that the index has. */
  readonly newestSequence: () => number;
  /** For sealed segments. */
  readonly memory: IndexMemory;
  /** `plain` for tests: the same results without WASM. */
  readonly kernels?: KernelKind | undefined;
  /** The next number of a segment. */
  readonly nextId: () => number;
  readonly sparseKeys: () => readonly string[];
  /** A segment was sealed. */
  readonly onSealed: () => void;
  /** Where segments are written if not here. */
  readonly sealElsewhere?: SealElsewhere | undefined;
  readonly filed?: FiledSegments | undefined;
  /** Calls for the next step, where a step has said that there is nothing to do. */
  readonly wake: () => void;
  /** Reads vectors of files beside this thread. */
  readonly rowReader?: RowReader | undefined;
  /** What calls `load`. */
  readonly loading: () => Pick<BackgroundWork, "wake" | "restFor">;
  /** A row's vector from the store, as it was given; `null` if the store has another version by now. */
  readonly readVector: (segment: LookupSegment, docId: number) => Float32Array | null;
}

/** Metadata that counts as much as a row: what segments are written of, and what is written, is in memory meanwhile. */
const MERGED_ROW_BYTES = 2_048;

/** Of a row beside its vector: codes, identity, trigrams, short metadata. */
const WRITTEN_ROW_BYTES = 512;

interface Candidate extends SegmentMeta {
  readonly entry: LiveSegment;
}

/** What was given back is not loaded before: rows that come in take the memory again soon. */
const REST_MS = 5_000;
/** So many rows are written anew for each millisecond since it was last begun, about a quarter of what can be. */
const SEALED_PER_MS = 2;
/** Takes a second or two. */
const SEALED_ANYWAY = 16_384;
const CODED_PER_STEP = 16;
/** Rows that may wait for their codes: searches compare each of them, in 0.4 ms. Beyond it every write codes two. */
const MAX_WAITING = 1_024;
/** Bytes of vectors that may wait while the index is filled: nothing can be searched until that is done. */
const MAX_WAITING_BYTES = 2 ** 28;
/** Rows of most of which codes are relative to the mean. */
const MEAN_ROWS = 1_024;

export class Indexer {
  readonly #options: IndexerOptions;
  readonly #loader: SegmentLoader;
  /** Of blocks that no row is to come to. */
  readonly #columns: EagerColumns;
  /** Of those that are being filled, made while no row comes: a filter would make them of up to 4,096 rows. */
  readonly #columnsAtRest: EagerColumns;
  #codes: CodeOptions | null = null;
  /** What the vectors of all segments are relative to; `undefined`: no row has been coded. */
  #origin: Float32Array | null | undefined;
  #sealing: Sealing | null = null;
  /** What is being sealed is a segment that is opened anew. */
  #isReopening = false;
  #sealedAt = 0;
  /** State of the segments in which all rows had codes and all full blocks their columns: to look at each of them takes long. */
  #readyAt = -1;
  /** Segments that `purge` was asked to rid of dead rows. */
  #purged: ReadonlySet<LookupSegment> = new Set();
  #isPurgeNext = true;
  /** What is being sealed, where that was begun before the last `purge`: it may have copied rows that had died by then. */
  #overtaken: Sealing | null = null;

  constructor(options: IndexerOptions) {
    this.#options = options;
    const { segments, rowReader: reader, loading } = options;
    this.#loader = new SegmentLoader(segments, { reader, wake: () => loading().wake() });
    // Sealed segments get theirs where they are written.
    const mutableBlocks = (): DocBlock[] => this.#mutable().flatMap(({ blocks }) => blocks);
    this.#columns = new EagerColumns(() => mutableBlocks().filter(isFull));
    this.#columnsAtRest = new EagerColumns(() => mutableBlocks().filter((block) => !isFull(block)));
  }

  /** Whether more rows may wait for their code. `filled`: dimension of an index that cannot be searched yet. */
  mayWait(filled: number | null): boolean {
    let waiting = 0;
    for (const { segment } of this.#options.segments.entries)
      if (!segment.isSealed) waiting += segment.vectors.waiting;
    if (waiting <= MAX_WAITING || filled === null) return waiting <= MAX_WAITING;
    return waiting * filled * Float32Array.BYTES_PER_ELEMENT <= MAX_WAITING_BYTES;
  }

  /** One slice; false: there is nothing to do. `atRest`: see `MergeRequest`. */
  step(atRest: boolean): boolean {
    const { changes } = this.#options.segments;
    if (this.#readyAt !== changes) {
      // A filter would make columns at once; that a row has no code costs a search little.
      if (this.#columns.step() || this.code(CODED_PER_STEP)) return true;
      this.#readyAt = changes;
    }
    return this.#seal(atRest) || (atRest && this.#columnsAtRest.step());
  }

  /** One slice of loading codes, columns and vectors from files; false: there is nothing to load, or no room. */
  load(): boolean {
    return this.#loader.step();
  }

  /** More is loaded before the next slice. */
  get isReading(): boolean {
    return this.#loader.isReading;
  }

  /** How long to `load` in one turn, see `BackgroundSteps`. */
  get loadingSliceMs(): number {
    return this.#loader.sliceMs;
  }

  /** Gives codes to so many rows that have waited longest; false: none waits. */
  code(rows: number): boolean {
    for (const { segment } of this.#options.segments.entries) {
      if (segment.isSealed || segment.vectors.waiting === 0) continue;
      this.#codes ??= this.#newCodes(segment);
      segment.vectors.code(rows, this.#codes);
      return true;
    }
    return false;
  }

  /** Segments were restored, whose vectors are relative to this. */
  continueFrom(origin: Float32Array | null): void {
    this.#origin = origin;
  }

  /** It is being written anew, together with others or alone. */
  isSource(segment: LookupSegment): boolean {
    return this.#sealing?.sources.some((source) => source.segment === segment) ?? false;
  }

  /** It is being written anew, or is about to be because of `purge`. */
  isLeft(segment: LookupSegment): boolean {
    return this.isSource(segment) || this.isPurged(segment);
  }

  /** Segments are being written anew, here or elsewhere. */
  get isSealing(): boolean {
    return this.#sealing !== null;
  }

  /** Has segments written anew: mutable ones with all rows published, and sealed ones that have dead rows. */
  purge(): void {
    const purged = this.#options.segments.entries.filter(
      ({ segment, liveCount }) => !segment.isSealed || liveCount < segment.rows,
    );
    for (const { segment } of purged) if (!segment.isSealed) segment.freeze();
    this.#purged = new Set(purged.map(({ segment }) => segment));
    this.#overtaken = this.#sealing;
  }

  /** It was among those when `purge` was called last. */
  isPurged(segment: LookupSegment): boolean {
    return this.#purged.has(segment);
  }

  /** Begins anew what was being sealed: the keys that are indexed are others. */
  restart(): void {
    this.#sealing?.close();
    this.#sealing = null;
    this.#overtaken = null;
  }

  close(): void {
    this.restart();
  }

  #mutable(): MutableSegment[] {
    return this.#options.segments.entries.flatMap(({ segment }) => (segment.isSealed ? [] : [segment]));
  }

  #seal(atRest: boolean): boolean {
    this.#sealing ??= this.#reopening() ?? this.#nextSealing(atRest);
    if (this.#sealing === null) return false;
    const sealing = this.#sealing;
    const { sources } = sealing;
    const result = sealing.step();
    if (result === "waiting") return false;
    if (result === "working") return true;
    if (result === "failed") {
      this.restart();
      return true;
    }
    this.#sealing = null;
    const entry = new LiveSegment(result.segment, result.live);
    if (this.#overtaken !== null && entry.liveCount < result.segment.rows)
      this.#purged = new Set([...this.#purged, result.segment]);
    this.#overtaken = null;
    if (this.#isReopening) this.#options.segments.renew(sources[0]!, entry);
    else this.#options.segments.replace(sources, entry);
    this.#options.onSealed();
    return true;
  }

  /** A segment that takes its own place with less in memory. */
  #reopening(): Sealing | null {
    const { filed, segments, memory, nextId, wake, loading } = this.#options;
    this.#isReopening = false;
    if (filed === undefined) return null;
    for (const { entry, segment } of reopened(segments.entries, memory)) {
      // It is about to be written anew.
      const awaited = this.isPurged(segment) ? null : filed.reopen(segment, nextId);
      if (awaited === null) continue;
      this.#isReopening = true;
      if (memory.isShort) loading().restFor(REST_MS);
      return new AwaitedSealing([entry], awaited, wake);
    }
    return null;
  }

  #nextSealing(atRest: boolean): Sealing | null {
    // What is written of the next one would come on top.
    if (this.#options.memory.isUnfiledMuch && this.#options.filed?.isWriting() === true) return null;
    const { segments, mutableRows, segmentRows, sealElsewhere } = this.#options;
    const newest = this.#options.newestSequence();
    const done = segments.entries.filter(
      ({ segment, liveCount }) =>
        segment.isSealed ||
        segment.isFull ||
        isDue({ live: liveCount, span: newest - segment.minSequence }, { mutableRows, atRest }),
    );
    const empty = done.filter(({ liveCount }) => liveCount === 0);
    if (empty.length > 0) segments.replace(empty, null);
    const candidates = done.flatMap((entry) => (entry.liveCount > 0 ? [candidateOf(entry)] : []));
    const since = performance.now() - this.#sealedAt;
    // While rows come in fast, or are too much for the memory, they are sealed and not merged, for writers wait for that.
    const isHurried = !atRest && (sealElsewhere !== undefined || this.#options.memory.unsealed.excess > 0);
    const mostRows = isHurried ? Math.max(SEALED_ANYWAY, since * SEALED_PER_MS) : Infinity;
    const most = Math.min(segmentRows, mostRows, this.#mostWritten());
    const merged = chooseMerge(candidates, { segmentRows: most, atRest });
    const purged = candidates.filter(({ entry }) => this.isPurged(entry.segment)).slice(0, 1);
    // While rows come in there is always something to merge: the two take turns.
    const isPurgesTurn = merged.length === 0 || this.#isPurgeNext;
    const chosen = purged.length > 0 && isPurgesTurn ? purged : merged;
    if (chosen.length === 0) return null;
    this.#isPurgeNext = chosen !== purged;
    this.#sealedAt = performance.now();
    const sources = chosen.map(({ entry }) => entry);
    for (const { segment } of sources) if (!segment.isSealed) segment.freeze();
    return this.#beginSealing(sources);
  }

  /** Rows of a segment that fit the memory while they are written. */
  #mostWritten(): number {
    return this.#options.memory.mostWritten / this.#writtenRowBytes();
  }

  #writtenRowBytes(): number {
    const { dimension = 0 } = this.#options.segments.entries[0]?.segment.vectors.search?.segment.shape ?? {};
    return WRITTEN_ROW_BYTES + Float32Array.BYTES_PER_ELEMENT * dimension;
  }

  #beginSealing(sources: readonly LiveSegment[]): Sealing {
    const { sealElsewhere, wake } = this.#options;
    const id = this.#options.nextId();
    const awaited = sealElsewhere?.({ sources, id, origin: this.#origin ?? null }) ?? null;
    if (awaited !== null) return new AwaitedSealing(sources, awaited, wake);
    const memory = this.#options.memory.forSegment();
    const rows = sources.reduce((sum, { liveCount }) => sum + liveCount, 0);
    memory.add("written", rows * this.#writtenRowBytes());
    const writer = new SegmentWriter(sources, {
      id,
      memory,
      sparseKeys: this.#options.sparseKeys(),
      readVector: (segment, docId) => this.readVector(segment, docId),
      keep: (segment) => {
        // They are closed at once.
        for (const { segment: source } of sources) if (source.isSealed) source.memory.giveBack("vectors");
        // What is taken leaves room to write the next one.
        const kept = takeRows(memory, segment);
        memory.giveBack("written");
        return kept;
      },
    });
    return new LocalSealing(sources, writer, memory);
  }

  /** From the store, in the form that segments have; `null`: the store has another version by now. */
  readVector(segment: LookupSegment, docId: number): Float32Array | null {
    const vector = this.#options.readVector(segment, docId);
    if (vector === null) return null;
    return relativeTo(this.#origin ?? null, prepare(this.#options.space, vector));
  }

  /** Around the mean of most of the first rows. */
  #newCodes({ vectors, count }: MutableSegment): CodeOptions {
    const { kernels, space } = this.#options;
    const rows = Math.min(count, MEAN_ROWS);
    const dimension = vectors.at(0)!.length;
    const mean = vectors.mean(rows);
    const isRelative = space === "l2";
    const origin = (this.#origin ??= isRelative ? mean : null);
    return {
      shape: { space: isRelative ? "l2" : "ip", dimension, origin, kernels },
      centroid: isRelative ? null : relativeTo(null, mean),
    };
  }
}

function isFull({ metadata }: DocBlock): boolean {
  return metadata.length === BLOCK_DOCS;
}

function candidateOf(entry: LiveSegment): Candidate {
  const { segment, liveCount } = entry;
  const { readable: kept } = segment.vectors.search!.segment;
  const rows = segment.isSealed ? segment.rows : segment.count;
  const bytes = segment.blocks.reduce((sum, { metadata }) => sum + metadata.totalBytes, 0);
  const size = Math.max(1, bytes / (rows * MERGED_ROW_BYTES));
  return { entry, sealed: segment.isSealed, live: liveCount * size, rows: rows * size, kept };
}

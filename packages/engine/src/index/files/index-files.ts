/**
 * The files of one collection's index. Writes a segment's file once the segment is sealed, then a manifest that names it;
 * a manifest again when rows of its segments have died, and when the collection closes. One thing at a time, behind the
 * writes and searches; what fails is reported and tried again later.
 *
 * Invariants: a manifest is installed after everything that it names, and nothing is removed that the newest one names. A
 * segment that is replaced while it is written gets no file. Every operation up to `covers` is in the named segments, so
 * a manifest never covers less than the one before: until a merged segment has its file, those of its sources stay.
 */
import { randomUUID } from "node:crypto";
import { Cancellation } from "@sheaf/protocol";
import { countBits } from "../../segment/bits.ts";
import {
  type OpenSegmentOptions,
  moveToFile,
  openSegmentFile,
  writeSegmentFile,
} from "../../segment/files/segment-file.ts";
import type { SealedSegment } from "../../segment/sealed-segment.ts";
import type { ReadRelative } from "../../segment/source-rows.ts";
import { writeDeadRows } from "../../storage/files/dead-rows.ts";
import { type Manifest, type SegmentEntry, installManifest } from "../../storage/files/manifest.ts";
import type { IndexMemory } from "../../storage/files/index-memory.ts";
import { DataAbsent } from "../../storage/data-absent.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { SegmentFiles } from "../../storage/files/segment-files.ts";
import { type IndexState, type ManifestDraft, draftManifest } from "./manifest-draft.ts";
import { type RestoreRequest, type RestoredIndex, removeIndexFiles, restoreIndex } from "./restore-index.ts";
import type { SealRequest } from "../indexer.ts";
import type { AwaitedSegment } from "../sealing.ts";
import { SegmentSealer, type WriteElsewhere } from "./segment-sealer.ts";

export interface IndexFilesOptions {
  readonly files: SegmentFiles;
  /** Of the segments that are opened. */
  readonly memory: IndexMemory;
  /** UUID of the log. */
  readonly lineage: string;
  /** Vectors from the store, for segments that do not keep theirs. */
  readonly readVector: ReadRelative;
  /** `null`: nothing can be said for now. */
  readonly state: () => IndexState | null;
  /** Segments that are soon replaced get no file. */
  readonly isReplacedSoon: (segment: SealedSegment) => boolean;
  /** Told up to which operation the installed manifest covers; infinite: there is none any more. */
  readonly onCovered?: ((covers: number) => void) | undefined;
  /** Told of each manifest once it is installed. */
  readonly onInstalled?: ((manifest: Manifest) => void) | undefined;
  /** Told when files of segments were written, or could not be. */
  readonly onWritten?: (() => void) | undefined;
  readonly onProblem: (error: unknown) => void;
  /** A file that the index is read from was found damaged as another was written of it. */
  readonly onDamaged: (damage: SegmentDamaged) => void;
  readonly delays?: FileDelays | undefined;
  /** Has files of new segments written by another process. */
  readonly writeElsewhere?: WriteElsewhere | undefined;
}

export interface FileDelays {
  /** From the sealing of a segment to its file. */
  readonly sealedMs: number;
  /** From a write to the manifest that knows of it. */
  readonly writtenMs: number;
  /** From a failure to the next attempt. */
  readonly retryMs: number;
}

const DELAYS: FileDelays = { sealedMs: 100, writtenMs: 10_000, retryMs: 30_000 };

interface WrittenSegment extends SegmentEntry {
  readonly sparse: readonly string[];
}

export class IndexFiles {
  readonly #options: IndexFilesOptions;
  readonly #delays: FileDelays;
  readonly #closing = new Cancellation();
  /** The file of each segment that has one. */
  readonly #written = new WeakMap<SealedSegment, WrittenSegment>();
  #nextN = 0;
  #installed: Manifest | null = null;
  #installedAt: number | null = null;
  /** Live rows that the installed manifest tells of; `null`: one of its files is lost. */
  #installedLive: number | null = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;
  #work: Promise<void> = Promise.resolve();
  /** Damage was found: the files are no index any more. */
  #abandoned = false;
  #hasFailed = false;
  #isWriting = false;
  /** Could not be opened from their files, for want of descriptors say: until when that is not tried again. */
  readonly #unread = new WeakMap<SealedSegment, number>();
  readonly #sealer: SegmentSealer | null;

  constructor(options: IndexFilesOptions) {
    this.#options = options;
    this.#delays = options.delays ?? DELAYS;
    const { files, memory, writeElsewhere, onProblem } = options;
    this.#sealer =
      writeElsewhere === undefined
        ? null
        : new SegmentSealer({
            ...{ files, memory, onProblem },
            write: writeElsewhere,
            fileOf: (segment) => this.#fileOfNow(segment),
            onOpened: (segment, file, { sparse }) =>
              this.#written.set(segment, { ...file, sparse: sparse.map(({ key }) => key) }),
          });
  }

  /** `null`: there is none. */
  get installed(): Manifest | null {
    return this.#installed;
  }

  /** Up to which operation the installed manifest covers; `null`: there is none. */
  get covers(): number | null {
    return this.#installed?.covers ?? null;
  }

  /** When this process installed it; `null`: it has not. */
  get installedAt(): number | null {
    return this.#installed === null ? null : this.#installedAt;
  }

  /** The index as its files have it. Where there is none, nothing is left of the files. */
  async restore(
    request: Pick<RestoreRequest, "head" | "plan" | "kernels" | "signal">,
  ): Promise<RestoredIndex | null> {
    const { files, lineage, memory, onProblem } = this.#options;
    const { restored, nextN } = await restoreIndex({ ...request, files, lineage, memory, onProblem });
    this.#nextN = nextN;
    if (restored === null) await removeIndexFiles(files, () => false);
    else {
      const { manifest, segments, lost, isLiveUnknown } = restored;
      this.#installed = manifest;
      const isWhole = lost.length === 0 && !isLiveUnknown;
      this.#installedLive = isWhole ? segments.reduce((sum, { live }) => sum + countBits(live), 0) : null;
      for (const { segment, file } of segments)
        this.#written.set(segment, { ...file, sparse: manifest.sparse });
    }
    return restored;
  }

  /** The files turned out not to be the index of these records, or cannot be used for another reason. */
  async discard(): Promise<void> {
    this.#installed = null;
    this.#options.onCovered?.(Infinity);
    await removeIndexFiles(this.#options.files, (name) => this.#isBeingMade(name));
  }

  /** Has sources written as one segment, which has its file at once; `null`: the index has to do it. */
  seal(request: SealRequest): AwaitedSegment | null {
    const state = this.#options.state();
    return state === null ? null : (this.#sealer?.seal(request, state.plan) ?? null);
  }

  /** Opens a segment anew that has a file on this machine; `null`: it has none. One that fails is tried again later. */
  reopen(segment: SealedSegment, nextId: () => number): AwaitedSegment | null {
    const state = this.#closing.aborted ? null : this.#options.state();
    const isDue = performance.now() >= (this.#unread.get(segment) ?? 0);
    const file = state && isDue ? this.#fileOf(segment, state) : null;
    if (file === null) return null;
    const { dimension } = segment.vectors.search.segment.shape;
    const opened = this.#openAnew(segment, file, { id: nextId(), plan: state!.plan, dimension });
    opened.catch((error: unknown) => {
      // What is on another machine costs requests.
      const isAbsent = error instanceof DataAbsent;
      this.#unread.set(segment, isAbsent ? Infinity : performance.now() + this.#delays.retryMs);
      if (!isAbsent) this.#fail(error);
    });
    return { segment: opened, release: () => {} };
  }

  /** Segments are waiting for their files. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** These files may have no longer the names that they have: they are written anew, and a manifest of them. */
  renew(names: ReadonlySet<string>): void {
    for (const { segment } of this.#options.state()?.entries ?? [])
      if (segment.isSealed && names.has(this.#written.get(segment)?.name ?? ""))
        this.#written.delete(segment);
    // Also where it is one of dead rows.
    this.#installedLive = null;
    this.#schedule(this.#delays.sealedMs);
  }

  /** Segments were sealed. */
  sealed(): void {
    this.#schedule(this.#delays.sealedMs);
  }

  /** Records were written. */
  changed(): void {
    this.#schedule(this.#delays.writtenMs);
  }

  /**
   * Writes what has no file yet, and a manifest of it. One call at a time. What is sealed meanwhile is for the next one: while
   * rows come in fast, there would be no end.
   */
  async catchUp(): Promise<void> {
    try {
      for (const segment of this.#unwritten()) {
        this.#isWriting = true;
        if (this.#unwritten().includes(segment)) await this.#write(segment);
        this.#options.onWritten?.();
      }
    } finally {
      this.#isWriting = false;
      this.#options.onWritten?.();
    }
    await this.#install();
    await this.#removeUnused();
    this.#hasFailed = false;
  }

  /** `catchUp` after what is under way. Rejects where it fails, and is tried again later then. */
  settle(): Promise<void> {
    const settled = this.#work.then(() => this.catchUp());
    this.#then(() => settled);
    return settled;
  }

  /**
   * Nothing is written any more. A damaged file is set aside, and the manifest that names it stays: the next opening reads
   * its rows from the records. After anything else no file stays, and the index is made anew of all records.
   */
  abandon(error: unknown): void {
    this.#abandoned = true;
    this.#closing.abort(error);
    void this.#sealer?.close();
    const { files, onProblem } = this.#options;
    const isDamaged = error instanceof SegmentDamaged;
    this.#then(() => (isDamaged ? files.quarantine(error.file) : this.discard()).catch(onProblem));
  }

  /** Ends what is being written and leaves a manifest of what there is. The index is still open. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closing.abort(new Error("the index is being closed"));
    await this.#sealer?.close();
    this.#then(async () => {
      await this.#install();
      await this.#removeUnused();
    });
    await this.#work;
  }

  #schedule(delay: number): void {
    const dueAt = performance.now() + delay;
    if (dueAt >= this.#dueAt || this.#closing.aborted) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#dueAt = Infinity;
      this.#then(() => this.catchUp());
    }, delay).unref();
  }

  /** After what is under way. */
  #then(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    if (this.#closing.aborted) return;
    if (error instanceof SegmentDamaged) return this.#options.onDamaged(error);
    // A full disk is told of once.
    if (!this.#hasFailed) this.#options.onProblem(error);
    this.#hasFailed = true;
    this.#schedule(this.#delays.retryMs);
  }

  #unwritten(): readonly SealedSegment[] {
    const state = this.#closing.aborted ? null : this.#options.state();
    return (state?.entries ?? []).flatMap(({ segment, liveCount }) => {
      const isKept = segment.isSealed && liveCount > 0 && !this.#options.isReplacedSoon(segment);
      return isKept && this.#fileOf(segment, state!) === null ? [segment] : [];
    });
  }

  async #write(segment: SealedSegment): Promise<void> {
    const { files, readVector, state } = this.#options;
    const sparse = state()!.plan.sparse.map(({ key }) => key);
    const name = `${randomUUID()}.seg`;
    const identity = await writeSegmentFile(files, name, segment, { signal: this.#closing, readVector });
    // What was read of a segment that was closed meanwhile may be anything.
    if (!this.#isThere(segment)) return files.remove(name);
    this.#written.set(segment, { ...identity, rows: segment.capacity, sparse });
    await moveToFile(files, identity, segment, { signal: this.#closing });
  }

  async #openAnew(
    segment: SealedSegment,
    file: SegmentEntry,
    like: Pick<OpenSegmentOptions, "id" | "plan" | "dimension">,
  ): Promise<SealedSegment> {
    const { files, memory } = this.#options;
    const options = { ...like, space: like.plan.space, memory, signal: this.#closing };
    const opened = await openSegmentFile(files, file, options);
    if (opened.vectors.search.segment.source?.isLocal !== true) {
      opened.close();
      throw new DataAbsent(null);
    }
    this.#written.set(opened, this.#written.get(segment)!);
    return opened;
  }

  #isThere(segment: SealedSegment): boolean {
    return this.#options.state()?.entries.some((entry) => entry.segment === segment) ?? false;
  }

  #fileOfNow(segment: SealedSegment): SegmentEntry | null {
    const state = this.#options.state();
    return state === null ? null : this.#fileOf(segment, state);
  }

  #fileOf(segment: SealedSegment, { plan }: IndexState): SegmentEntry | null {
    const written = this.#written.get(segment);
    if (written === undefined || !plan.sparse.every(({ key }) => written.sparse.includes(key))) return null;
    const { name, crc, rows } = written;
    return { name, crc, rows };
  }

  async #install(): Promise<void> {
    const state = this.#abandoned ? null : this.#options.state();
    if (state === null) return;
    const draft = draftManifest(state, (segment) => this.#fileOf(segment, state));
    if (!this.#isNews(draft)) return;
    const { files, lineage } = this.#options;
    if (draft.manifest.segments.length === 0) return this.discard();
    const deadRows =
      draft.dead.size === 0 ? null : await writeDeadRows(files, `${randomUUID()}.dead`, draft.dead);
    const manifest = { n: this.#nextN, lineage, ...draft.manifest, deadRows };
    // Also one that fails may be there.
    this.#nextN++;
    await installManifest(files, manifest);
    this.#options.onCovered?.(manifest.covers);
    this.#installed = manifest;
    this.#installedAt = performance.now();
    this.#installedLive = draft.live;
    this.#options.onInstalled?.(manifest);
  }

  #isNews({ manifest, live }: ManifestDraft): boolean {
    const before = this.#installed;
    if (before === null) return manifest.segments.length > 0;
    if (manifest.segments.length === 0) return manifest.covers >= manifest.head.sequence;
    if (manifest.covers < before.covers) return false;
    const names = ({ segments }: Pick<Manifest, "segments">): string =>
      segments.map(({ name }) => name).join();
    const isSame = manifest.covers === before.covers && live === this.#installedLive;
    return !isSame || names(manifest) !== names(before);
  }

  /** What no manifest names, unless the next one will. */
  async #removeUnused(): Promise<void> {
    let kept: ReadonlySet<string> | null | undefined;
    await removeIndexFiles(this.#options.files, (name) => {
      // Not before the files are listed: meanwhile a segment may have come to its place.
      if (kept === undefined) kept = this.#keptNames();
      return kept === null || kept.has(name) || this.#isBeingMade(name);
    });
  }

  /** `null`: nothing can be said for now. */
  #keptNames(): ReadonlySet<string> | null {
    const state = this.#options.state();
    if (state === null) return null;
    const kept = new Set(this.#installed?.segments.map(({ name }) => name));
    if (this.#installed !== null) kept.add(`manifest-${this.#installed.n}`);
    if (this.#installed?.deadRows) kept.add(this.#installed.deadRows.name);
    for (const { segment } of state.entries) {
      const file = segment.isSealed ? this.#fileOf(segment, state) : null;
      if (file !== null) kept.add(file.name);
    }
    return kept;
  }

  #isBeingMade(name: string): boolean {
    return this.#sealer?.isUsing(name) === true;
  }
}

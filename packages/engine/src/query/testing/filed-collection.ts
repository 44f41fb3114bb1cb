/** A test collection whose index has files: it is closed, or killed at any operation on them, and opened again. */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { Cancellation, type IndexPlan } from "@sheaf/protocol";
import { OpeningProgress } from "../../collection/opening/opening-progress.ts";
import { putLostRows, withLiveRows } from "../../collection/opening/restore-lost-rows.ts";
import { CollectionIndex } from "../../index/collection-index.ts";
import { type FileDelays, IndexFiles } from "../../index/files/index-files.ts";
import type { FiledSegments } from "../../index/filed-segments.ts";
import type { SealElsewhere } from "../../index/indexer.ts";
import { runSealJob } from "../../indexing/run-seal-job.ts";
import { listBits } from "../../segment/bits.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import type { SegmentFiles } from "../../storage/files/segment-files.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import { TestCollection, type TestCollectionOptions } from "./test-collection.ts";

export interface FiledCollectionOptions extends TestCollectionOptions {
  readonly lineage?: string;
  /** Segments are sealed by jobs, as the indexer process does. */
  readonly byJobs?: boolean;
  readonly delays?: FileDelays;
  /** In place of these. */
  readonly runJob?: typeof runSealJob;
}

export class FiledCollection extends TestCollection {
  readonly options: FiledCollectionOptions & { readonly lineage: string };
  /** What is on the disk. */
  readonly disk = new Map<string, Uint8Array>();
  readonly problems: unknown[] = [];
  /** Segments that jobs have written. */
  written = 0;
  /** Rows of lost files that the last opening has put again. */
  restored = 0;
  readonly #keeper: { files?: IndexFiles };
  #files: IndexFiles;

  constructor(plan: IndexPlan, options: FiledCollectionOptions = {}) {
    const keeper: { files?: IndexFiles } = {};
    const sealElsewhere: SealElsewhere = (request) => keeper.files?.seal(request) ?? null;
    const filed: FiledSegments = {
      reopen: (segment, nextId) => keeper.files?.reopen(segment, nextId) ?? null,
      isWriting: () => keeper.files?.isWriting === true,
    };
    const whole = { lineage: randomUUID(), ...options, sealElsewhere, filed };
    super(plan, whole);
    this.options = whole;
    this.#keeper = keeper;
    this.#files = this.#newFiles(new MemoryFiles(this.disk));
  }

  /** Seals and merges all there is. */
  seal(): void {
    while (this.index.maintain(true));
  }

  /** The same, and waits for jobs, and for segments that are opened anew. */
  async sealByJobs(): Promise<void> {
    do {
      this.seal();
      await setTimeout(1);
    } while (this.index.isBuilding);
  }

  *scan(from: number): Generator<StoredRecord> {
    const records = this.records.toSorted((a, b) => a.offset - b.offset);
    for (const record of records) if (record.offset >= from) yield record;
  }

  /** Writes what is due. */
  flush(): Promise<void> {
    return this.#files.catchUp();
  }

  async close(): Promise<void> {
    await this.#files.close();
    this.index.close();
  }

  /** As a new process: from here on operations on files go through `files`. */
  async reopen(files: SegmentFiles = new MemoryFiles(this.disk)): Promise<"restored" | "rebuilt"> {
    this.restored = 0;
    this.index = new CollectionIndex(this.plan, this, this.options);
    this.#files = this.#newFiles(files);
    const { plan, head } = this;
    const signal = new Cancellation();
    const { kernels } = this.options;
    const restored = await this.#files.restore({ head, plan, kernels, signal });
    if (restored === null) for (const record of this.records) this.index.put(record);
    else {
      const { manifest, segments, lost, isLiveUnknown } = restored;
      const live = isLiveUnknown ? await withLiveRows(this, segments, signal) : segments;
      this.index.restore(live, manifest.head.nextOffset);
      this.#replay(manifest.covers);
      const target = { index: this.index, kinds: { know() {} }, progress: new OpeningProgress(() => {}) };
      if (lost.length > 0) this.restored = await putLostRows(this, target, signal);
    }
    return restored === null ? "rebuilt" : "restored";
  }

  #replay(covers: number): void {
    const snapshot = this.index.snapshot();
    for (const position of listBits(snapshot.live.words)) {
      const offset = snapshot.offset(position);
      if (this.read(offset) === null) this.index.remove(offset);
    }
    for (const record of this.records)
      if (record.sequence > covers && this.index.versionOf(record.id)?.sequence !== record.sequence)
        this.index.put(record);
  }

  #newFiles(files: SegmentFiles): IndexFiles {
    const { index, plan } = this;
    const { byJobs = false, runJob = runSealJob, delays } = this.options;
    const newFiles: IndexFiles = new IndexFiles({
      ...{ files, lineage: this.options.lineage, memory: index.memory, delays },
      readVector: (segment, docId) => index.readVector(segment, docId),
      state: () => {
        const { head } = this;
        return { entries: index.segments, plan, head, readable: head.sequence, kinds: () => [] };
      },
      isReplacedSoon: (segment) => index.isReplacedSoon(segment),
      onWritten: () => index.wake(),
      onProblem: (error) => void this.problems.push(error),
      onDamaged: (error) => void this.problems.push(error),
      ...(byJobs && {
        writeElsewhere: async (work, signal) => {
          const file = await runJob(work, { records: this, files }, signal);
          this.written++;
          return file;
        },
      }),
    });
    this.#keeper.files = newFiles;
    return newFiles;
  }
}

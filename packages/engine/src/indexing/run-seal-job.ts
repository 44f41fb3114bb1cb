/**
 * Reads the rows of a job, writes them as one segment and that into its file: what the engine host does for an index
 * without files, by the same code. Nothing is changed but the file, and whatever ends a job leaves none.
 *
 * The records are read from an environment that the engine host writes meanwhile. Each stretch of reads ends its transaction
 * of LMDB, which else would keep pages from being used again; the next one goes on with the next row.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { prepare } from "../kernels/distance.ts";
import { setBits } from "../segment/bits.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import type { SegmentShape } from "../segment/dense/segment-layout.ts";
import { relativeTo } from "../segment/dense/search-dense.ts";
import { openSegmentFile, writeSegmentFile } from "../segment/files/segment-file.ts";
import { MutableSegment } from "../segment/mutable-segment.ts";
import { sparseVectorsOf } from "../segment/postings/sparse-metadata.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { LookupSegment } from "../segment/segment.ts";
import { SegmentWriter } from "../segment/segment-writer.ts";
import type { ReadRelative, WriterSource } from "../segment/source-rows.ts";
import { VectorBlocks } from "../segment/vector-blocks.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";
import type { SegmentFiles } from "../storage/files/segment-files.ts";
import { runSteps } from "../storage/steps.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { SealSource, SealWork, SealedFile } from "./seal-job.ts";

/** Longest stretch between two turns of the event loop, which is also the longest transaction but for one record. */
const STRETCH_MS = 20;

/** For the files that a job reads. */
const MEMORY_BYTES = 256 * 1024 * 1024;

export interface JobStores {
  readonly records: Pick<RecordStore, "read" | "readVector">;
  readonly files: SegmentFiles;
}

interface OpenSource extends WriterSource {
  readonly segment: LookupSegment & { close(): void };
}

export async function runSealJob(
  work: SealWork,
  stores: JobStores,
  signal: CancelSignal,
): Promise<SealedFile> {
  const job = new SealJobRun(work, stores, signal);
  try {
    return await job.run();
  } finally {
    job.close();
  }
}

class SealJobRun {
  readonly #work: SealWork;
  readonly #stores: JobStores;
  readonly #signal: CancelSignal;
  readonly #blocks: VectorBlocks;
  readonly #memory = new IndexMemory(MEMORY_BYTES);
  readonly #opened: { close(): void }[] = [];
  #stretchEnds = 0;

  constructor(work: SealWork, stores: JobStores, signal: CancelSignal) {
    this.#work = work;
    this.#stores = stores;
    this.#signal = signal;
    this.#blocks = new VectorBlocks(work.dimension);
  }

  async run(): Promise<SealedFile> {
    const sources: OpenSource[] = [];
    for (const [id, source] of this.#work.sources.entries()) {
      const opened = await this.#open(source, id);
      if (opened === null) continue;
      this.#opened.push(opened.segment);
      sources.push(opened);
    }
    if (sources.length === 0) throw new SheafError("unavailable", "no row of the job is left");
    const segment = await this.#write(sources);
    this.#opened.push(segment);
    const { files } = this.#stores;
    const options = { signal: this.#signal, readVector: this.#readVector };
    const identity = await writeSegmentFile(files, this.#work.file, segment, options);
    return { ...identity, rows: segment.capacity };
  }

  close(): void {
    for (const opened of this.#opened) opened.close();
  }

  /** `null`: no row of it is left. */
  async #open(source: SealSource, id: number): Promise<OpenSource | null> {
    if (source.kind === "rows") return this.#readRows(source, id);
    const { plan, dimension } = this.#work;
    const options = { id, space: plan.space, dimension, plan, memory: this.#memory, signal: this.#signal };
    const segment = await openSegmentFile(this.#stores.files, source.file, options);
    return { segment, live: source.live };
  }

  async #readRows(
    { offsets, sequences }: Extract<SealSource, { readonly kind: "rows" }>,
    id: number,
  ): Promise<OpenSource | null> {
    const { plan, dimension, origin } = this.#work;
    const shape: SegmentShape = { space: plan.space === "l2" ? "l2" : "ip", dimension, origin };
    const capacity = Math.ceil(offsets.length / 32) * 32;
    const segment = new MutableSegment({
      ...{ id, capacity, plan },
      vectors: { blocks: this.#blocks, firstRows: BLOCK_DOCS },
    });
    const into = new Float32Array(dimension);
    for (const [i, offset] of offsets.entries()) {
      await this.#pause();
      const record = this.#stores.records.read(offset, into);
      if (record === null || record.sequence !== sequences[i]) continue;
      const { sequence, id: recordId, document, metadata, embedding } = record;
      const vector = prepare(plan.space, embedding);
      const sparse = sparseVectorsOf(metadata);
      runSteps(segment.append({ offset, sequence, id: recordId, document, metadata, vector, sparse }));
      segment.vectors.code(1, { shape, centroid: null });
      while (segment.packSparse()) await this.#pause();
    }
    segment.publish();
    if (segment.count === 0) return null;
    segment.freeze();
    const live = new Uint32Array(capacity / 32);
    setBits(live, 0, segment.count);
    return { segment, live };
  }

  async #write(sources: readonly OpenSource[]): Promise<SealedSegment> {
    const writer = new SegmentWriter(sources, {
      id: sources.length,
      sparseKeys: this.#work.plan.sparse.map(({ key }) => key),
      readVector: this.#readVector,
      keep: ({ kept }) => kept,
    });
    try {
      for (;;) {
        const segment = writer.step();
        if (segment !== undefined) return segment;
        await this.#pause();
      }
    } catch (error) {
      writer.close();
      throw error;
    }
  }

  readonly #readVector: ReadRelative = (segment, docId) => {
    const stored = this.#stores.records.readVector(segment.offsets[docId]!);
    if (stored === null || stored.sequence !== segment.sequences[docId]) return null;
    return relativeTo(this.#work.origin, prepare(this.#work.plan.space, stored.embedding));
  };

  async #pause(): Promise<void> {
    if (performance.now() < this.#stretchEnds) return;
    // A timer, for lmdb-js ends its transaction in one.
    await pause(1);
    throwIfAborted(this.#signal);
    this.#stretchEnds = performance.now() + STRETCH_MS;
  }
}

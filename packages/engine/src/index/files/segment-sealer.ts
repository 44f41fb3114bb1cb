/**
 * Has segments written by another process, straight into their files, and opens these. After failures in a row the index
 * seals in its own process for a while.
 */
import { randomUUID } from "node:crypto";
import { Cancellation, type CancelSignal, type IndexPlan, SheafError } from "@sheaf/protocol";
import type { SealSource, SealWork, SealedFile } from "../../indexing/seal-job.ts";
import { listBits } from "../../segment/bits.ts";
import { openSegmentFile } from "../../segment/files/segment-file.ts";
import type { SealedSegment } from "../../segment/sealed-segment.ts";
import type { SegmentEntry } from "../../storage/files/manifest.ts";
import type { IndexMemory } from "../../storage/files/index-memory.ts";
import type { SegmentFiles } from "../../storage/files/segment-files.ts";
import type { SealRequest } from "../indexer.ts";
import type { AwaitedSegment } from "../sealing.ts";
import type { LiveSegment } from "../segment-list.ts";

/** Writes a file; once it has settled, nothing works on it any more. `null`: it cannot be written elsewhere now. */
export type WriteElsewhere = (work: SealWork, signal: CancelSignal) => Promise<SealedFile> | null;

export interface SegmentSealerOptions {
  readonly files: SegmentFiles;
  readonly memory: IndexMemory;
  readonly write: WriteElsewhere;
  /** A segment's file, if it has one with all that the plan asks for. */
  readonly fileOf: (segment: SealedSegment) => SegmentEntry | null;
  /** A segment was opened from its new file. */
  readonly onOpened: (segment: SealedSegment, file: SegmentEntry, plan: IndexPlan) => void;
  readonly onProblem: (error: unknown) => void;
}

const MOST_FAILURES = 2;
const BACK_OFF_MS = 30_000;

export class SegmentSealer {
  readonly #options: SegmentSealerOptions;
  readonly #closing = new Cancellation();
  /** Files of segments that are not in their place yet. */
  readonly #names = new Set<string>();
  readonly #running = new Set<Promise<unknown>>();
  #failures = 0;
  #notBefore = 0;

  constructor(options: SegmentSealerOptions) {
    this.#options = options;
  }

  /** A segment is being made of this file. */
  isUsing(name: string): boolean {
    return this.#names.has(name);
  }

  /** `null`: the index has to do it. */
  seal({ sources, id, origin }: SealRequest, plan: IndexPlan): AwaitedSegment | null {
    if (this.#closing.aborted || performance.now() < this.#notBefore) return null;
    const dimension = sources[0]!.segment.vectors.search!.segment.shape.dimension;
    const described = sources.map((source) => this.#describe(source));
    if (described.includes(null)) return null;
    const file = `${randomUUID()}.seg`;
    const released = new Cancellation();
    const work = { file, plan, dimension, origin, sources: described as SealSource[] };
    const written = this.#options.write(work, released);
    if (written === null) return null;
    this.#names.add(file);
    const segment = this.#open(written, work, id, released);
    const settled = segment.catch(() => this.#names.delete(file));
    this.#running.add(settled);
    void settled.then(() => this.#running.delete(settled));
    return {
      segment,
      release: () => {
        this.#names.delete(file);
        released.abort(new SheafError("cancelled", "the segment is not wanted any more"));
      },
    };
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closing.abort(new SheafError("cancelled", "the index is being closed"));
    await Promise.all(this.#running);
    this.#names.clear();
  }

  #describe({ segment, live }: LiveSegment): SealSource | null {
    if (segment.isSealed) {
      const file = this.#options.fileOf(segment);
      return file === null ? null : { kind: "file", file, live };
    }
    const docIds = listBits(live);
    return {
      kind: "rows",
      offsets: Float64Array.from(docIds, (docId) => segment.offsets[docId]!),
      sequences: Float64Array.from(docIds, (docId) => segment.sequences[docId]!),
    };
  }

  async #open(
    written: Promise<SealedFile>,
    work: SealWork,
    id: number,
    released: Cancellation,
  ): Promise<SealedSegment> {
    const { files, memory, onOpened } = this.#options;
    const end = (): void => released.abort(this.#closing.reason);
    this.#closing.addEventListener("abort", end);
    try {
      const file = await written;
      const { plan, dimension } = work;
      const options = { id, plan, dimension, space: plan.space, memory, signal: released };
      const segment = await openSegmentFile(files, file, options);
      onOpened(segment, file, plan);
      this.#failures = 0;
      return segment;
    } catch (error) {
      // It may be there if nobody waited for it in the end.
      await files.remove(work.file).catch(() => {});
      if (!released.aborted) this.#failed(error);
      throw error;
    } finally {
      this.#closing.removeEventListener("abort", end);
    }
  }

  #failed(error: unknown): void {
    if (++this.#failures < MOST_FAILURES) return;
    this.#notBefore = performance.now() + BACK_OFF_MS;
    this.#failures = MOST_FAILURES - 1;
    this.#options.onProblem(error);
  }
}

/**
 * Loads what searches look at of segments that were opened from files: first the codes of all, which any search needs, and beside
 * them bf16 of all vectors, so that rows are scored without reading a hundred of them one by one for each segment, then the columns
 * that filters are likely to ask for, and last the lower halves, of which a search reads some ten; all but codes while the
 * memory has room. In steps of less than a millisecond, vectors with the help of a thread that checks them. A search that
 * comes before reads what it needs itself.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isSliceWanted, wasSliceTaken } from "@sheaf/process";
import { CODE_PARTS, type ReadBeside } from "../segment/dense/dense-source.ts";
import { PROBED } from "../segment/dense/list-probe.ts";
import { missingMagnitudes, takeMagnitudes, takeNextRows } from "../segment/dense/take-rows.ts";
import type { RowsKept } from "../segment/dense/segment-layout.ts";
import type { DenseSegment } from "../segment/dense/dense-segment.ts";
import type { RowReader } from "../storage/files/row-reader.ts";
import type { SegmentMemory } from "../storage/files/index-memory.ts";
import type { DocBlock } from "../segment/doc-block.ts";
import { EagerColumns } from "./eager-columns.ts";
import type { LiveSegment, SegmentList } from "./segment-list.ts";

interface FileSegment {
  readonly entry: LiveSegment;
  readonly dense: DenseSegment;
  readonly memory: SegmentMemory;
}

/** Milliseconds between two turns: the sooner it is done, the fewer searches read what they need one by one. */
const SLICE_MS = 5;
/** After the last search or write, until what spares little is loaded at full speed again. */
const QUIET_MS = 20;

/** Until vectors go on that searches hardly need, while calls come. */
const PAUSE_MS = 2;

export interface LoaderOptions {
  /** Without it vectors are read by this thread alone. */
  readonly reader?: RowReader | undefined;
  /** Calls for the next step, where a step has said that there is nothing to do. */
  readonly wake: () => void;
}

interface Loading {
  readonly entry: LiveSegment;
  /** It is a tenth of what a search reads of the file. */
  readonly isRest?: boolean;
  readonly steps: Generator<void, void>;
}

export class SegmentLoader {
  readonly #segments: SegmentList;
  readonly #columns = new EagerColumns(() =>
    this.#inFiles().flatMap<DocBlock>(({ entry }) => entry.segment.blocks),
  );
  #loading: Loading | null = null;
  readonly #options: LoaderOptions;
  /** Vectors are being read with the thread. */
  #isReading = false;
  /** What that ended with. */
  #failure: unknown = null;

  constructor(segments: SegmentList, options: LoaderOptions) {
    this.#segments = segments;
    this.#options = options;
  }

  /** There is more to come, which wakes the next step. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** One slice; false: there is nothing to load, or no room. Throws `SegmentDamaged`. */
  step(): boolean {
    // What a segment that is gone had claimed was given back when it went.
    if (this.#loading !== null && !this.#has(this.#loading.entry)) this.#loading = null;
    if (this.#failure !== null) throw this.#failure;
    // Reading with the thread goes on beside everything else.
    this.#read("none");
    this.#loading ??= this.#codes() ?? this.#rows("none");
    if (this.#loading === null) {
      if (this.#columns.step()) return true;
      this.#read("bf16");
      this.#loading = this.#rows("bf16");
      if (this.#loading === null) return false;
    }
    if (this.#loading.steps.next().done === true) this.#loading = null;
    return true;
  }

  /** How long to go on in one turn; 0: for one step, because calls need the thread more than what is loaded. */
  get sliceMs(): number {
    const givesWay = isSliceWanted() || (this.#loading?.isRest === true && wasSliceTaken(QUIET_MS));
    return givesWay ? 0 : SLICE_MS;
  }

  #codes(): Loading | null {
    // Those of slots that filters keep come last: most searches have none.
    for (const parts of [PROBED, CODE_PARTS])
      for (const { entry, dense } of this.#inFiles())
        if (dense.lacks(parts)) return { entry, steps: dense.load(parts) };
    for (const { entry, dense, memory } of this.#inFiles())
      if (takeMagnitudes(memory, dense)) return { entry, steps: dense.load(["magnitudes"]) };
    return null;
  }

  /** More of the vectors of a segment that has so much of them, with the thread. */
  #read(had: RowsKept): void {
    const { reader } = this.#options;
    if (this.#isReading || reader?.isClosed !== false) return;
    const found = this.#more(had);
    if (found === null) return;
    const { entry } = found.file;
    void this.#readRows(found.file, found.next, {
      reader,
      mayGoOn: () => this.#mayRead(entry, had !== "none"),
    });
  }

  /** The same without it. */
  #rows(had: RowsKept): Loading | null {
    if (this.#options.reader?.isClosed === false) return null;
    const found = this.#more(had);
    if (found === null) return null;
    const { entry, dense } = found.file;
    return { entry, steps: dense.loadRows(found.next), isRest: had !== "none" };
  }

  /** Has taken memory for it; `null`: there is nothing, or no room. */
  #more(had: RowsKept): { readonly file: FileSegment; readonly next: RowsKept } | null {
    const files = this.#inFiles();
    const others = files.reduce((bytes, { dense }) => bytes + missingMagnitudes(dense), 0);
    for (const file of files) {
      const { dense, memory } = file;
      const left = others - missingMagnitudes(dense);
      const next = dense.kept === had ? takeNextRows(memory, dense, left) : null;
      if (next !== null) return { file, next };
    }
    return null;
  }

  async #readRows({ entry, dense, memory }: FileSegment, next: RowsKept, beside: ReadBeside): Promise<void> {
    this.#isReading = true;
    try {
      await dense.readRows(next, beside);
    } catch (error) {
      // Without the thread it is tried again; a file that was closed is of no interest.
      if (!beside.reader.isClosed && this.#has(entry)) this.#failure = error;
      memory.set("vectors", dense.rowBytes(dense.kept));
    }
    this.#isReading = false;
    this.#options.wake();
  }

  async #mayRead(entry: LiveSegment, isRest: boolean): Promise<boolean> {
    if (isRest && wasSliceTaken(QUIET_MS)) await sleep(PAUSE_MS);
    return this.#has(entry);
  }

  #has(entry: LiveSegment): boolean {
    return this.#segments.entries.includes(entry);
  }

  /** What is on another machine is fetched by the searches that need it. */
  #inFiles(): FileSegment[] {
    return this.#segments.entries.flatMap((entry) => {
      if (!entry.segment.isSealed) return [];
      const { memory, vectors } = entry.segment;
      const dense = vectors.search.segment;
      return dense.source?.isLocal === true ? [{ entry, dense, memory }] : [];
    });
  }
}

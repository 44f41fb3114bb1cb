/** An index with files over a store that is a map: it can be closed, killed at any operation on its files, and opened again. */
import { Cancellation, type IndexPlan } from "@sheaf/protocol";
import type { StoreHead } from "../../../storage/record-store.ts";
import type { StoredRecord } from "../../../storage/stored-record.ts";
import { MemoryFiles } from "../../../storage/files/memory-files.ts";
import type { SegmentFiles } from "../../../storage/files/segment-files.ts";
import { CollectionIndex } from "../../collection-index.ts";
import type { CollectionIndexOptions } from "../../collection-index-options.ts";
import { IndexFiles, type WriteSegment } from "../index-files.ts";
import type { OpenSegment } from "../restore-index.ts";

export interface FiledIndexOptions extends CollectionIndexOptions {
  readonly plan: IndexPlan;
  readonly lineage: string;
  readonly segments: { readonly write: WriteSegment; readonly open: OpenSegment };
}

export class FiledIndex {
  readonly options: FiledIndexOptions;
  /** What is on the disk. */
  readonly disk = new Map<string, Uint8Array>();
  readonly records = new Map<string, StoredRecord>();
  readonly problems: unknown[] = [];
  /** Sequence number of each removal -> id. */
  readonly #removals = new Map<number, string>();
  readonly #offsets = new Map<number, StoredRecord>();
  #head: StoreHead = { sequence: 0, nextOffset: 0, dimension: null };
  #index: CollectionIndex;
  #files: IndexFiles;

  constructor(options: FiledIndexOptions) {
    this.options = options;
    this.#index = this.#newIndex();
    this.#files = this.#newFiles(new MemoryFiles(this.disk));
  }

  get index(): CollectionIndex {
    return this.#index;
  }

  get head(): StoreHead {
    return this.#head;
  }

  put(id: string, embedding: Float32Array, metadata: StoredRecord["metadata"] = null): void {
    const sequence = this.#head.sequence + 1;
    const known = this.records.get(id);
    const offset = known?.offset ?? this.#head.nextOffset;
    const record = { id, offset, sequence, embedding, document: null, uri: null, metadata };
    this.records.set(id, record);
    this.#offsets.set(offset, record);
    const nextOffset = Math.max(this.#head.nextOffset, offset + 1);
    this.#head = { sequence, nextOffset, dimension: embedding.length };
    this.#index.put(record);
  }

  remove(id: string): void {
    const known = this.records.get(id);
    if (known === undefined) return;
    const sequence = this.#head.sequence + 1;
    this.#head = { ...this.#head, sequence };
    this.#removals.set(sequence, id);
    this.records.delete(id);
    this.#offsets.delete(known.offset);
    this.#index.remove(known.offset);
  }

  /** Seals and merges all there is. */
  seal(): void {
    while (this.#index.maintain(true));
  }

  /** Writes what is due. */
  flush(): Promise<void> {
    return this.#files.catchUp();
  }

  async close(): Promise<void> {
    await this.#files.close();
    this.#index.close();
  }

  /** From here on operations on files go through `files`, as those of a new process. */
  async reopen(files: SegmentFiles = new MemoryFiles(this.disk)): Promise<"restored" | "rebuilt"> {
    this.#index = this.#newIndex();
    this.#files = this.#newFiles(files);
    const { plan, segments } = this.options;
    const signal = new Cancellation();
    const restored = await this.#files.restore({
      ...{ head: this.#head, plan, openSegment: segments.open, signal },
    });
    if (restored === null) for (const record of this.#offsets.values()) this.#index.put(record);
    else {
      this.#index.restore(restored.segments, restored.manifest.head.nextOffset);
      this.#replay(restored.manifest.covers);
    }
    return restored === null ? "rebuilt" : "restored";
  }

  /** As the store's change keys tell it. */
  #replay(covers: number): void {
    for (let sequence = covers + 1; sequence <= this.#head.sequence; sequence++) {
      const removed = this.#removals.get(sequence);
      const record = [...this.records.values()].find((one) => one.sequence === sequence);
      const id = removed ?? record?.id;
      const known = id === undefined ? null : this.#index.versionOf(id);
      if (id === undefined || (known !== null && known.sequence >= sequence)) continue;
      if (record !== undefined) this.#index.put(record);
      else if (known !== null) this.#index.remove(known.offset);
    }
  }

  #newIndex(): CollectionIndex {
    const { plan, lineage: _lineage, segments: _segments, ...options } = this.options;
    const read = (offset: number): StoredRecord | null => this.#offsets.get(offset) ?? null;
    return new CollectionIndex(plan, { read, readVector: read }, options);
  }

  #newFiles(files: SegmentFiles): IndexFiles {
    const { plan, lineage, segments } = this.options;
    const index = this.#index;
    return new IndexFiles({
      ...{ files, lineage, writeSegment: segments.write },
      state: () => {
        const head = this.#head;
        return { entries: index.segments, plan, head, readable: head.sequence, kinds: () => [] };
      },
      isReplacedSoon: (segment) => index.isReplacedSoon(segment),
      onProblem: (error) => void this.problems.push(error),
    });
  }
}

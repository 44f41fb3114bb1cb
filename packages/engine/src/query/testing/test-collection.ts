/**
 * A collection without a store: records in a map, with the index kept beside them as the real one keeps it. Gives
 * the oracle and the engine the same records.
 */
import type { IndexPlan, Metadata } from "@sheaf/protocol";
import { CollectionIndex } from "../../index/collection-index.ts";
import type { CollectionIndexOptions } from "../../index/collection-index-options.ts";
import type { ScanPool } from "../../index/scan-pool.ts";
import type { QueryDistance } from "../../kernels/value-memory.ts";
import type { StoreChange, StoreHead } from "../../storage/record-store.ts";
import { runSteps } from "../../storage/steps.ts";
import type { DocumentVersion, StoredRecord, VectorDistance } from "../../storage/stored-record.ts";
import { type HistoryMemory, VersionHistory } from "../../storage/version-history.ts";
import type { QueryContext } from "../query-context.ts";
import { RegexPool } from "../regex/regex-pool.ts";
import { StageTimes } from "../stage-times.ts";
import type { OracleCollection } from "./oracle.ts";

/** Of all collections; its threads keep no process alive. */
const regexPool = new RegexPool();

export interface RecordContent {
  readonly embedding: Float32Array;
  readonly document: string | null;
  readonly uri: string | null;
  readonly metadata: Metadata | null;
}

export type RecordPlace = Pick<StoredRecord, "offset" | "sequence">;

export interface TestCollectionOptions extends CollectionIndexOptions {
  readonly scanPool?: ScanPool | undefined;
  /** For former versions; of its own if left out. */
  readonly history?: HistoryMemory;
}

export class TestCollection implements OracleCollection {
  readonly plan: IndexPlan;
  index: CollectionIndex;
  readonly scanPool: ScanPool | undefined;
  readonly versions: VersionHistory;
  /** How often the store was read. */
  reads = 0;
  readonly #byOffset = new Map<number, StoredRecord>();
  readonly #offsets = new Map<string, number>();
  #nextOffset = 0;
  #sequence = 0;
  #dimension: number | null = null;
  #settle = (): void => {};

  constructor(plan: IndexPlan, options: TestCollectionOptions = {}) {
    this.plan = plan;
    this.scanPool = options.scanPool;
    this.versions = new VersionHistory(options.history);
    this.index = new CollectionIndex(plan, this, options);
  }

  /** As of a store that has all that was put. */
  get head(): StoreHead {
    return { sequence: this.#sequence, nextOffset: this.#nextOffset, dimension: this.#dimension };
  }

  get records(): StoredRecord[] {
    return [...this.#byOffset.values()];
  }

  get context(): QueryContext {
    const { index, plan, scanPool } = this;
    const { versions } = this;
    return {
      index,
      plan,
      scanPool,
      versions,
      tenant: "a tenant",
      regexes: regexPool.forTenant("a tenant"),
      reader: this,
      dimension: this.#dimension,
      times: new StageTimes(),
    };
  }

  read(offset: number): StoredRecord | null {
    this.reads++;
    return this.#byOffset.get(offset) ?? null;
  }

  readInSteps(offset: number): StoredRecord | null {
    return this.read(offset);
  }

  readDocument(offset: number): DocumentVersion | null {
    const record = this.read(offset);
    if (record === null) return null;
    const { sequence, document } = record;
    return { sequence, document: document === null ? null : Buffer.from(document) };
  }

  documentBytes(offset: number): number {
    return Buffer.byteLength(this.#byOffset.get(offset)?.document ?? "");
  }

  readVector(offset: number): StoredRecord | null {
    return this.#byOffset.get(offset) ?? null;
  }

  readDistance(offset: number, query: QueryDistance): VectorDistance | null {
    const record = this.readVector(offset);
    return record === null ? null : { sequence: record.sequence, distance: query.to(record.embedding) };
  }

  /** Inserts, or replaces the whole record; `at`: as a collection says that has this one as a partition. */
  put(id: string, content: RecordContent, at?: RecordPlace): void {
    this.hear(this.store(id, content, at));
  }

  /** Changes the store only: the moment between a commit and what the index hears of it. */
  store(id: string, content: RecordContent, at?: RecordPlace): StoredRecord {
    const offset = at?.offset ?? this.#offsets.get(id) ?? this.#nextOffset;
    this.#sequence = at?.sequence ?? this.#sequence + 1;
    const record = { id, offset, sequence: this.#sequence, ...content };
    this.#keep({ puts: [record], removes: [] });
    this.#nextOffset = Math.max(this.#nextOffset, offset + 1);
    this.#offsets.set(id, offset);
    this.#byOffset.set(offset, record);
    this.#dimension ??= content.embedding.length;
    return record;
  }

  /** Tells the index of a record that was stored. */
  hear(record: StoredRecord): void {
    this.index.put(record);
    this.#settle();
  }

  remove(id: string, at?: Pick<RecordPlace, "sequence">): void {
    const offset = this.#offsets.get(id);
    if (offset === undefined) return;
    const sequence = (this.#sequence = at?.sequence ?? this.#sequence + 1);
    this.#keep({ puts: [], removes: [{ id, offset, sequence }] });
    this.#offsets.delete(id);
    this.#byOffset.delete(offset);
    this.index.remove(offset, sequence);
    this.#settle();
  }

  #keep(change: Pick<StoreChange, "puts" | "removes">): void {
    const read = (offset: number): StoredRecord | null => this.#byOffset.get(offset) ?? null;
    this.#settle = runSteps(this.versions.keep({ head: this.head, read }, change));
  }
}

/**
 * The seam between a read of a collection in partitions and the partitions, which other processes may have: questions and
 * answers are plain messages. A partition finds what its leaves find and ranks its own records; what depends on records of
 * several partitions is done by whoever asks (`partitioned-search.ts`).
 *
 * A row is a number that a partition has for one of its records as long as the read lasts. Every method throws `SheafError`.
 */
import type { CancelSignal, Metadata, MetadataScalar, ResultRecord, Search, Selector } from "@sheaf/protocol";
import type { TallyPart } from "../facet/value-tally.ts";
import type { DensePath } from "../rank/knn.ts";
import type { TermStatistics } from "../rank/sparse-knn.ts";
import type { Fields } from "../select.ts";

export interface Partition {
  /**
   * Begins a read, which keeps every state that the partition goes through until it is told at which one to stay; `state`
   * is the first of them. To be closed in any case.
   *
   * @param question The same object for all partitions.
   * @param ids Those that each selection is to leave over, as far as they may be of this partition; `null`: all.
   */
  begin(question: PartitionQuestion, ids: SelectedIds, signal?: CancelSignal): Promise<BegunRead>;
}

export interface BegunRead {
  readonly state: number;
  readonly read: PartitionRead;
}

/** What a search wants of a partition. */
export interface RankQuestion extends Pick<Search, "rank" | "mmr" | "groupBy" | "explain"> {
  /** Results up to the last of the page. */
  readonly end: number;
}

export type SelectedIds = Selector["ids"];

/** What all partitions are asked. */
export interface PartitionQuestion {
  /** Of each selection. */
  readonly filters: readonly NamedFilter[];
  readonly lists: readonly ListQuestion[];
}

export interface NamedFilter extends Pick<Selector, "where"> {
  /** Where its filter stood in the body. */
  readonly path: string;
}

export interface ListQuestion {
  /** Place of its filter. */
  readonly selection: number;
  /** `null`: records are asked for in an order that is not that of scores. */
  readonly search: RankQuestion | null;
}

/** Lists are called by their places in the question. */
export interface PartitionRead {
  /**
   * At a state that is the first one or a later one: waits until the partition has come to it. `null`: it has gone through so
   * many since that it does not have this one any more.
   */
  settle(state: number): Promise<PartitionSize | null>;
  survey(list: number): Promise<ListSurvey>;
  /** @param counted By leaf, of the whole collection. */
  nearest(list: number, counted: readonly (TermStatistics | null)[]): Promise<readonly LeafRows[]>;
  /** The best records, as many as the whole read may need. @param leaves What counts of what was found. */
  rank(list: number, leaves: readonly RowValues[]): Promise<RankedRows>;
  /** The next rows in insertion order; fewer than `count`: there are no more. */
  next(list: number, count: number): Promise<Rows>;
  /** The first rows, in the order of their metadata. */
  sorted(list: number, orderBy: NonNullable<Search["orderBy"]>, end: number): Promise<Rows>;
  values(rows: Int32Array, keys: readonly string[]): Promise<readonly Metadata[]>;
  /** Of length 1, or all zeros; one after the other. */
  unitVectors(rows: Int32Array): Promise<Float32Array>;
  /** The first of these rows, one at least. */
  records(request: RecordsRequest): Promise<readonly ResultRecord[]>;
  /** Of the records that the search is to be explained for; `null`: the partition does not have it. */
  named(list: number): Promise<readonly (NamedRow | null)[]>;
  /** How many rows of the list come before each offset. */
  countBefore(list: number, offsets: readonly number[]): Promise<readonly number[]>;
  /** `null`: there is no room for so many values. */
  tally(list: number, key: string, part: TallyPart): Promise<Tallied | null>;
  close(): void;
}

export interface PartitionSize {
  /** Live records. */
  readonly records: number;
  /** Above all rows. */
  readonly rows: number;
}

export interface ListSurvey {
  /** Records that the selection has. */
  readonly count: number;
  /** By leaf, of this partition. */
  readonly counted: readonly (TermStatistics | null)[];
}

export interface Rows {
  readonly rows: Int32Array;
  readonly offsets: Float64Array;
}

/** What a leaf has found, best first, and how. */
export interface LeafRows extends Rows {
  readonly distances: Float32Array;
  readonly dense: DensePath | null;
  readonly sparse: { readonly blocks: number; readonly tails: number } | null;
}

export interface NamedRow {
  readonly row: number;
  readonly offset: number;
  /** Through the filter. */
  readonly passed: boolean;
  /** The clause that kept it out, where one alone did. */
  readonly clause: string | null;
}

export interface RowValues {
  readonly rows: Int32Array;
  readonly values: Float32Array;
}

export interface RankedRows extends Rows {
  readonly scores: Float32Array;
  /** Records that have a score. */
  readonly ranked: number;
}

export interface RecordsRequest {
  readonly list: number;
  readonly rows: Int32Array;
  readonly fields: Fields;
  /** About as many are answered, but for a longer record. */
  readonly bytes: number;
  /** `null`: no traces are asked for. */
  readonly traces: readonly RowTraces[] | null;
}

/** What a leaf has found of the rows; its rank is -1 where it has not. */
export interface RowTraces {
  readonly ranks: Int32Array;
  readonly distances: Float32Array;
}

export interface Tallied {
  readonly values: readonly MetadataScalar[];
  readonly counts: Float64Array;
  readonly holders: number;
  readonly unlisted: number;
}

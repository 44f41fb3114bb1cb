/** A read of a partition in this process: the stages of `search.ts` up to the ranking, on one snapshot. */
import assert from "node:assert/strict";
import {
  LIMITS,
  type Metadata,
  type MetadataScalar,
  type MetadataValue,
  type OrderBy,
  type ResultRecord,
} from "@sheaf/protocol";
import type { RowSet } from "../../index/row-set.ts";
import { withData } from "../../storage/data-absent.ts";
import { PageTraces, TraceBudget } from "../explain/traces.ts";
import { countBefore, searchedRows } from "../explain/why-not.ts";
import { DEFAULT_ROOM, talliedRows, withRoom } from "../facet/facets.ts";
import type { TallyPart, ValueTally } from "../facet/value-tally.ts";
import { rowsOfCandidates } from "../filter/filter.ts";
import { groupRecords } from "../group/group.ts";
import { insertionOrder } from "../insertion-order.ts";
import { sortedPage } from "../metadata-sort.ts";
import type { Pace } from "../pace.ts";
import { rankRecords } from "../rank/rank.ts";
import type { TermStatistics } from "../rank/sparse-knn.ts";
import { RecordView, StaleSnapshot } from "../record-view.ts";
import { ResultReader, listOf } from "../result-reader.ts";
import type { Scored } from "../score-order.ts";
import { findLeaves, prepareLeaves } from "../search.ts";
import { selectedAmong } from "../selection.ts";
import { overtaken } from "../snapshot-read.ts";
import { KeptStates, type KeptStatesOptions, type PartitionState } from "./kept-states.ts";
import type {
  LeafRows,
  ListSurvey,
  NamedRow,
  PartitionRead,
  PartitionSize,
  RankQuestion,
  RankedRows,
  RecordsRequest,
  RowTraces,
  RowValues,
  Rows,
  Tallied,
} from "./partition.ts";

const ROWS_PER_BREATH = 1_024;

interface ReadOptions extends KeptStatesOptions {
  /** It stays at a state, or is closed. */
  readonly onSettled: () => void;
}

/** What is known of a list by now. */
interface OpenList {
  readonly question: RankQuestion | null;
  readonly rows: RowSet;
  readonly leaves: ReturnType<typeof prepareLeaves>;
  readonly inOrder: Iterator<number, undefined>;
}

export class LocalPartitionRead implements PartitionRead {
  readonly #options: ReadOptions;
  readonly #budget = new TraceBudget();
  readonly #states: KeptStates;
  #settled: PartitionState | null = null;
  /** By selection, those that were asked for. */
  readonly #selected = new Map<number, Promise<RowSet>>();
  readonly #lists = new Map<number, OpenList>();

  constructor(options: ReadOptions) {
    this.#options = options;
    this.#states = new KeptStates(options);
  }

  /** The index is at this state now, which so many reads keep. */
  note(sequence: number, sharing: number): void {
    this.#states.note(sequence, sharing);
  }

  async settle(sequence: number): Promise<PartitionSize | null> {
    const state = await this.#states.settle(sequence);
    if (state === null) return null;
    this.#settled = state;
    this.#options.onSettled();
    const { snapshot } = state.view;
    return { records: snapshot.size, rows: snapshot.bases.positions };
  }

  survey(list: number): Promise<ListSurvey> {
    return this.#reading(async (view, pace) => {
      const { rows, leaves } = await this.#listOf(list);
      const counted: (TermStatistics | null)[] = [];
      for (const leaf of leaves) counted.push(await leaf.count());
      await pace.breathe();
      return { count: view.snapshot.countOf(rows), counted };
    });
  }

  nearest(list: number, counted: readonly (TermStatistics | null)[]): Promise<readonly LeafRows[]> {
    return this.#reading(async () => {
      const { rows, leaves } = await this.#listOf(list);
      const nearest = await findLeaves(leaves, rows, counted);
      return leaves.map(({ dense, sparse }, i) => {
        const { positions, offsets, distances } = nearest[i]!;
        const path = sparse && { blocks: sparse.blocks, tails: sparse.tails };
        return { rows: positions, offsets, distances, dense, sparse: path };
      });
    });
  }

  rank(list: number, leaves: readonly RowValues[]): Promise<RankedRows> {
    return this.#reading(async (view, pace) => {
      const { question, rows } = await this.#listOf(list);
      assert(question !== null && question.rank !== null, "the list has no rank");
      const { snapshot } = view;
      const values = leaves.map((leaf) => ({ positions: leaf.rows, values: leaf.values }));
      const ranking = await rankRecords(question.rank, values, { rows, snapshot, pace });
      const { positions, scores } = await this.#best(ranking, question, view);
      return { ...this.#rowsAt(positions, view), scores, ranked: ranking.positions.length };
    });
  }

  /** Those among which the best of the whole collection are, as far as they are of this partition. */
  async #best(ranking: Scored, question: RankQuestion, view: RecordView): Promise<Scored> {
    const { mmr, groupBy, end, explain } = question;
    // Where each record that was named is in it has to be known.
    if (explain !== undefined && explain.ids !== null) return ranking;
    // The k best of a group in the collection are among the k best of it in the partition, no further behind.
    if (mmr === undefined && groupBy !== null)
      return groupRecords(ranking, groupBy, end, { view, pace: this.#options.pace });
    const most = mmr === undefined ? end : LIMITS.mmrPool;
    return { positions: ranking.positions.slice(0, most), scores: ranking.scores.slice(0, most) };
  }

  next(list: number, count: number): Promise<Rows> {
    return this.#reading(async (view, pace) => {
      const { inOrder } = await this.#listOf(list);
      const rows: number[] = [];
      while (rows.length < count) {
        const next = inOrder.next();
        if (next.done === true) break;
        if (rows.push(next.value) % ROWS_PER_BREATH === 0) await pace.breathe();
      }
      return this.#rowsAt(Int32Array.from(rows), view);
    });
  }

  sorted(list: number, orderBy: OrderBy, end: number): Promise<Rows> {
    return this.#reading(async (view, pace) => {
      const { rows } = await this.#listOf(list);
      return this.#rowsAt(await sortedPage(rows, orderBy, { offset: 0, end }, { view, pace }), view);
    });
  }

  values(rows: Int32Array, keys: readonly string[]): Promise<readonly Metadata[]> {
    return this.#reading(async (view, pace) => {
      const found: Metadata[] = [];
      for (const row of rows) {
        const values = new Map<string, MetadataValue>();
        for (const key of keys) {
          const value = view.metadataValue(row, key);
          if (value !== undefined) values.set(key, value);
        }
        found.push(values);
        if (pace.spend(view.snapshot.metadataBytes(row))) await pace.breathe();
      }
      return found;
    });
  }

  unitVectors(rows: Int32Array): Promise<Float32Array> {
    return this.#reading(async (view, pace) => {
      const { plan, dimension } = this.#options.context;
      const length = dimension ?? 0;
      const units = new Float32Array(rows.length * length);
      for (const [i, row] of rows.entries()) {
        view.unitVector(row, plan.space, units.subarray(i * length, (i + 1) * length));
        if (pace.spend(length * Float32Array.BYTES_PER_ELEMENT)) await pace.breathe();
      }
      return units;
    });
  }

  records({ list, rows, fields, bytes, traces }: RecordsRequest): Promise<readonly ResultRecord[]> {
    return this.#reading(async (view, pace) => {
      const reader = new ResultReader(view, () => bytes);
      const scored = { positions: rows, scores: new Float32Array(0) };
      const made = traces && this.#traces(traces, await this.#listOf(list), view);
      await reader.add(listOf(scored, { ...fields, score: false }, made), pace);
      const [first = []] = reader.firstBatch().lists;
      if (first.length > 0 || reader.isDone) return first;
      const [next = []] = (await reader.nextBatch(pace)).lists;
      return next;
    });
  }

  named(list: number): Promise<readonly (NamedRow | null)[]> {
    return this.#reading(async (view, pace) => {
      const { rows } = await this.#listOf(list);
      const { question, selections } = this.#options;
      const { where, filter } = selections[question.lists[list]!.selection]!;
      const searched = searchedRows({ where }, rows, { view, pace, patterns: filter?.patterns });
      const named = this.#settled!.named[list]!;
      const out = named.flatMap(({ position }) =>
        position === null || rows.has(position) ? [] : [position],
      );
      const clauses = await searched.failing(out);
      return named.map(({ position }) =>
        position === null
          ? null
          : {
              ...{ row: position, offset: view.snapshot.offset(position) },
              ...{ passed: rows.has(position), clause: clauses.get(position) ?? null },
            },
      );
    });
  }

  countBefore(list: number, offsets: readonly number[]): Promise<readonly number[]> {
    return this.#reading(async (view, pace) => {
      const { rows } = await this.#listOf(list);
      return countBefore(offsets, rows, view, pace);
    });
  }

  tally(list: number, key: string, part: TallyPart): Promise<Tallied | null> {
    return this.#reading(async (view, pace) => {
      const { rows } = await this.#listOf(list);
      const { snapshot } = view;
      const { kindsOf = () => undefined } = this.#options.context;
      return withRoom(pace, DEFAULT_ROOM, async (hasRoom) => {
        const tally = await talliedRows(rows, { snapshot, pace, kindsOf }).tally(key, part, hasRoom);
        return tally && (await talliedValues(tally, pace));
      });
    });
  }

  #traces(found: readonly RowTraces[], { question, leaves }: OpenList, view: RecordView): PageTraces {
    assert(question !== null && question.rank !== null, "the list has no rank");
    const { rank, explain } = question;
    const onPage = leaves.map(({ knn, sparse }, i) => ({
      ...found[i]!,
      ...{ knn, weighed: sparse?.weighed ?? null },
    }));
    return new PageTraces({ rank, leaves: onPage, path: explain?.path ?? "explain" }, view, this.#budget);
  }

  close(): void {
    const { onSettled, ticket, hold } = this.#options;
    onSettled();
    ticket.close();
    hold.release();
  }

  async #listOf(list: number): Promise<OpenList> {
    const known = this.#lists.get(list);
    if (known !== undefined) return known;
    const { context, pace, question, selections } = this.#options;
    const { view, candidates } = this.#settled!;
    const { selection, search } = question.lists[list]!;
    const reading = { view, pace };
    let selected = this.#selected.get(selection);
    if (selected === undefined) {
      selected = selectedAmong(
        rowsOfCandidates(candidates[selection]!, view),
        selections[selection]!,
        reading,
      );
      this.#selected.set(selection, selected);
      // What it needs may have to be fetched first.
      selected.catch(() => this.#selected.delete(selection));
    }
    const rows = await context.times.measure("filter", () => selected);
    const rank = search?.rank ?? null;
    const leaves = rank === null ? [] : prepareLeaves(context, rank, reading);
    const inOrder = insertionOrder(rows, view.snapshot);
    const open = { question: search, rows, leaves, inOrder };
    this.#lists.set(list, open);
    return open;
  }

  #rowsAt(positions: Int32Array, { snapshot }: RecordView): Rows {
    return { rows: positions, offsets: Float64Array.from(positions, (row) => snapshot.offset(row)) };
  }

  async #reading<T>(read: (view: RecordView, pace: Pace) => Promise<T>): Promise<T> {
    const { context, pace, ticket, hold } = this.#options;
    assert(this.#settled !== null, "the read has no state yet");
    const { view } = this.#settled;
    if (pace.isDue) await pace.breathe();
    try {
      return await hold.use(() => withData(context.reader, () => read(view, pace), pace.signal));
    } catch (error) {
      throw error instanceof StaleSnapshot ? overtaken(ticket.endedBy) : error;
    }
  }
}

async function talliedValues(tally: ValueTally, pace: Pace): Promise<Tallied> {
  const values: MetadataScalar[] = [];
  const counts: number[] = [];
  for (const list of tally.lists()) {
    for (let place = 0; place < list.length; place++) {
      const tallied = list.at(place);
      counts.push(tallied.count);
      if (values.push(tallied.value()) % ROWS_PER_BREATH === 0) await pace.breathe();
    }
  }
  const { holders, unlisted } = tally;
  return { values, counts: Float64Array.from(counts), holders, unlisted };
}

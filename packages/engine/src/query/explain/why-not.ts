/** Why records that were named are not on the page of a search: the first stage that each did not get through, and where. */
import { type Rank, type Search, type WhyNot, type WhyNotReason, leafPaths } from "@sheaf/protocol";
import { RowSet } from "../../index/row-set.ts";
import { nextBit } from "../../segment/bits.ts";
import type { Pace } from "../pace.ts";
import { stopsAtWanted } from "../group/group.ts";
import { pageEnd } from "../page.ts";
import type { RecordValues } from "../group/member-order.ts";
import { fieldScore } from "../rank/field-values.ts";
import { leavesOf } from "../rank/leaves.ts";
import type { RecordView } from "../record-view.ts";
import type { RequestPatterns } from "../regex/request-patterns.ts";
import type { SearchStages } from "../search.ts";
import { failingClauses } from "./failing-clauses.ts";

/** An id and the position that it had when the read began; `null`: there was no such record. */
export interface NamedRecord {
  readonly id: string;
  readonly position: number | null;
}

export interface WhyNotReading {
  readonly view: RecordView;
  readonly pace: Pace;
  readonly patterns: RequestPatterns;
}

/** What is asked of the records behind a search, wherever they are. */
export interface SearchedRecords {
  readonly view: RecordValues;
  readonly pace: Pace;
  /** Whether it has passed the filter. */
  passed(position: number): boolean;
  /** Of records that have not: the clause that kept each out, where one alone did. */
  failing(positions: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** Of records that have: how many of those come before each in insertion order. */
  insertionPlaces(positions: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** Before values of their metadata are read. */
  prepare(positions: readonly number[], keys: readonly string[]): Promise<void>;
}

type Stages = Pick<SearchStages, "leaves" | "ranking" | "chosen" | "kept" | "page">;

interface FilteredReading extends Omit<WhyNotReading, "patterns"> {
  /** Left out: there is no filter. */
  readonly patterns: RequestPatterns | undefined;
}

/** Those of one index. */
export function searchedRows(
  { where }: Pick<Search, "where">,
  rows: RowSet,
  { view, pace, patterns }: FilteredReading,
): SearchedRecords {
  return {
    ...{ view, pace },
    passed: (position) => rows.has(position),
    failing: async (positions) => {
      const filtered = new RowSet(view.snapshot.bases);
      for (const position of positions) filtered.add(position);
      if (where === null || patterns === undefined || positions.length === 0) return new Map();
      return failingClauses(where, filtered, { view, pace, patterns });
    },
    insertionPlaces: async (positions) => {
      const offsets = positions.map((position) => view.snapshot.offset(position));
      const before = await countBefore(offsets, rows, view, pace);
      return new Map(positions.map((position, i) => [position, before[i]!]));
    },
    prepare: () => Promise.resolve(),
  };
}

const ROWS_PER_BREATH = 4_096;

/** Of the records that are not on the page, in the order in which they were named. */
export async function whyNot(
  named: readonly NamedRecord[],
  search: Search,
  stages: Stages,
  records: SearchedRecords,
): Promise<readonly WhyNot[]> {
  const onPage = new Set(stages.page.positions);
  const missing = named.filter(({ position }) => position === null || !onPage.has(position));
  const there = missing.flatMap(({ position }) => (position === null ? [] : [position]));
  const passed = there.filter((position) => records.passed(position));
  const clauses = await records.failing(there.filter((position) => !records.passed(position)));
  const places = await placesOf(passed, search, stages, records);
  const ranked = passed.filter((position) => places.has(position));
  const chosen = search.mmr === undefined ? null : new Set(stages.chosen?.positions);
  const outOfGroups = await groupedOut(ranked, search, stages, records.pace);
  const unranked = passed.filter((position) => !places.has(position));
  const missed = await missedLeaves(unranked, search.rank, stages, records);
  return missing.map(({ id, position }) => {
    if (position === null) return { id, reason: "absent" };
    if (!records.passed(position)) return { id, ...because("filtered", clauses.get(position)) };
    const rank = places.get(position);
    if (search.rank !== null && rank === undefined) {
      return { id, ...because("outside_leaf", missed.get(position)) };
    }
    const isChosen = chosen === null || chosen.has(position);
    const reason = !isChosen ? "diversified_out" : outOfGroups.has(position) ? "grouped_out" : "below_page";
    return { id, reason, ...(rank !== undefined && { rank }) };
  });
}

function because(reason: WhyNotReason, path: string | undefined): Omit<WhyNot, "id"> {
  return path === undefined ? { reason } : { reason, path };
}

/** Places among all records that have a score, or in insertion order; of a search with `order_by` they are not known. */
async function placesOf(
  positions: readonly number[],
  { rank, orderBy }: Search,
  { ranking }: Stages,
  records: SearchedRecords,
): Promise<ReadonlyMap<number, number>> {
  if (positions.length === 0 || (rank === null && orderBy !== undefined)) return new Map();
  if (ranking === null) return records.insertionPlaces(positions);
  const wanted = new Set(positions);
  const places = new Map<number, number>();
  for (const [place, position] of ranking.positions.entries()) {
    if (wanted.has(position)) places.set(position, place);
    if (place % ROWS_PER_BREATH === 0) await records.pace.breathe();
  }
  return places;
}

/** How many of the rows come before each offset. */
export async function countBefore(
  sought: readonly number[],
  rows: RowSet,
  { snapshot }: RecordView,
  pace: Pace,
): Promise<readonly number[]> {
  const asked = sought.map((offset) => ({ offset, before: 0 }));
  let seen = 0;
  for (const [index, { offsets }] of snapshot.segments.entries()) {
    const words = rows.segment(index);
    for (let doc = nextBit(words, 0); doc >= 0; doc = nextBit(words, doc + 1)) {
      for (const one of asked) if (offsets[doc]! < one.offset) one.before++;
      if (++seen % ROWS_PER_BREATH === 0) await pace.breathe();
    }
  }
  return asked.map(({ before }) => before);
}

/**
 * Those that grouping left out. Where it keeps the first of each group it stops at the last record of the page: what is
 * ranked behind that is below the page either way.
 */
async function groupedOut(
  positions: readonly number[],
  { groupBy, ...search }: Search,
  { kept, chosen }: Stages,
  pace: Pace,
): Promise<ReadonlySet<number>> {
  const out = new Set<number>();
  if (groupBy === null || kept === null || chosen === null || positions.length === 0) return out;
  const isStopped = stopsAtWanted(chosen, groupBy) && kept.positions.length >= pageEnd(search);
  const wanted = new Set(positions);
  const lastKept = isStopped ? kept.positions.at(-1) : undefined;
  for (const [i, position] of chosen.positions.entries()) {
    if (wanted.has(position)) out.add(position);
    if (position === lastKept) break;
    if (i % ROWS_PER_BREATH === 0) await pace.breathe();
  }
  for (const [i, position] of kept.positions.entries()) {
    out.delete(position);
    if (i % ROWS_PER_BREATH === 0) await pace.breathe();
  }
  return out;
}

/** For each record the path of the first leaf without a default that does not have it; else of the first leaf of all. */
async function missedLeaves(
  positions: readonly number[],
  rank: Rank | null,
  { leaves }: Stages,
  records: SearchedRecords,
): Promise<ReadonlyMap<number, string>> {
  const required = new Map<number, string>();
  const first = new Map<number, string>();
  if (rank === null || positions.length === 0) return first;
  const { view, pace } = records;
  const keys = leavesOf(rank).flatMap((leaf) => (leaf.type === "knn" ? [] : [leaf.key]));
  await records.prepare(positions, [...new Set(keys)]);
  const finds = leaves.values();
  for (const { leaf, path } of leafPaths(rank, "rank")) {
    const absent = new Set(positions);
    if (leaf.type === "knn") {
      for (const [i, position] of finds.next().value!.nearest.positions.entries()) {
        absent.delete(position);
        if (i % ROWS_PER_BREATH === 0) await pace.breathe();
      }
    } else {
      for (const position of positions)
        if (fieldScore(view.metadataValue(position, leaf.key), leaf) !== null) absent.delete(position);
    }
    const missed = leaf.default === null ? required : first;
    for (const position of absent) if (!missed.has(position)) missed.set(position, path);
    await pace.breathe();
  }
  return new Map([...first, ...required]);
}

/** Why records that were named are not on the page of a search: the first stage that each did not get through, and where. */
import { type Rank, type Search, type WhyNot, type WhyNotReason, leafPaths } from "@sheaf/protocol";
import { RowSet } from "../../index/row-set.ts";
import { nextBit } from "../../segment/bits.ts";
import type { Pace } from "../pace.ts";
import { stopsAtWanted } from "../group/group.ts";
import { pageEnd } from "../page.ts";
import { fieldScore } from "../rank/field-values.ts";
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

const ROWS_PER_BREATH = 4_096;

/** Of the records that are not on the page, in the order in which they were named. */
export async function whyNot(
  named: readonly NamedRecord[],
  search: Search,
  stages: SearchStages,
  reading: WhyNotReading,
): Promise<readonly WhyNot[]> {
  const onPage = new Set(stages.page.positions);
  const missing = named.filter(({ position }) => position === null || !onPage.has(position));
  const filtered = new RowSet(reading.view.snapshot.bases);
  const passed: number[] = [];
  for (const { position } of missing) {
    if (position === null) continue;
    if (stages.rows.has(position)) passed.push(position);
    else filtered.add(position);
  }
  const clauses =
    search.where === null || filtered.count() === 0
      ? null
      : await failingClauses(search.where, filtered, reading);
  const places = await placesOf(passed, search, stages, reading);
  const ranked = passed.filter((position) => places.has(position));
  const chosen = search.mmr === undefined ? null : new Set(stages.chosen?.positions);
  const outOfGroups = await groupedOut(ranked, search, stages, reading.pace);
  const unranked = passed.filter((position) => !places.has(position));
  const missed = await missedLeaves(unranked, search.rank, stages, reading);
  return missing.map(({ id, position }) => {
    if (position === null) return { id, reason: "absent" };
    if (!stages.rows.has(position)) return { id, ...because("filtered", clauses?.get(position)) };
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
  { rows, ranking }: SearchStages,
  { view, pace }: WhyNotReading,
): Promise<ReadonlyMap<number, number>> {
  if (positions.length === 0 || (rank === null && orderBy !== undefined)) return new Map();
  if (ranking === null) return insertionPlaces(positions, rows, view, pace);
  const wanted = new Set(positions);
  const places = new Map<number, number>();
  for (const [place, position] of ranking.positions.entries()) {
    if (wanted.has(position)) places.set(position, place);
    if (place % ROWS_PER_BREATH === 0) await pace.breathe();
  }
  return places;
}

/** How many of the rows come before each. */
async function insertionPlaces(
  positions: readonly number[],
  rows: RowSet,
  { snapshot }: RecordView,
  pace: Pace,
): Promise<ReadonlyMap<number, number>> {
  const asked = positions.map((position) => ({ position, offset: snapshot.offset(position), before: 0 }));
  let seen = 0;
  for (const [index, { offsets }] of snapshot.segments.entries()) {
    const words = rows.segment(index);
    for (let doc = nextBit(words, 0); doc >= 0; doc = nextBit(words, doc + 1)) {
      for (const one of asked) if (offsets[doc]! < one.offset) one.before++;
      if (++seen % ROWS_PER_BREATH === 0) await pace.breathe();
    }
  }
  return new Map(asked.map(({ position, before }) => [position, before]));
}

/**
 * Those that grouping left out. Where it keeps the first of each group it stops at the last record of the page: what is
 * ranked behind that is below the page either way.
 */
async function groupedOut(
  positions: readonly number[],
  { groupBy, ...search }: Search,
  { kept, chosen }: SearchStages,
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
  { leaves }: SearchStages,
  { view, pace }: WhyNotReading,
): Promise<ReadonlyMap<number, string>> {
  const required = new Map<number, string>();
  const first = new Map<number, string>();
  if (rank === null || positions.length === 0) return first;
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
        if (fieldScore(view.snapshot.metadataValue(position, leaf.key), leaf) !== null)
          absent.delete(position);
    }
    const missed = leaf.default === null ? required : first;
    for (const position of absent) if (!missed.has(position)) missed.set(position, path);
    await pace.breathe();
  }
  return new Map([...first, ...required]);
}

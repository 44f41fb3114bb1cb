/**
 * The filter stage: which of the candidate rows match a `where`. Segment by segment, each clause on what the clauses
 * before it left: the cheap ones first, among those the ones that fewest rows match, and none once nothing is left.
 */
import assert from "node:assert/strict";
import type { MetadataValue, Selector } from "@sheaf/protocol";
import type { ExactIndex } from "../index/exact-index.ts";
import { RowSet, SEGMENT_ROWS, SEGMENT_WORDS, countBits, listBits } from "../index/row-set.ts";
import type { Segment } from "../index/segment.ts";
import type { Pace } from "./pace.ts";
import type { RecordView } from "./record-view.ts";
import type { DocumentPlan, Filter, MetadataPlan, WherePlan } from "./where-plan.ts";
import { type FilterRow, type Predicate, requiredIds } from "./where-predicate.ts";

/** Work between two looks at the clock, in rows; a document counts by its length. */
const ROWS_PER_BREATH = 256;
const CHARACTERS_PER_ROW = 256;
/** Candidates that are sooner tested than a column is made for them. */
const FEW_ROWS = 64;

/**
 * The live rows that ids leave over. Positions of ids are those of the newest snapshot: `ids` have to be asked for
 * before anything is waited for, and those of a `where` count only then, for the filter tests them as well.
 */
export function candidateRows(index: ExactIndex, { ids, where }: Selector, { snapshot }: RecordView): RowSet {
  const { live } = snapshot;
  const isNewest = index.snapshot() === snapshot;
  assert(ids === null || isNewest, "ids are looked up before the read waits");
  const fromWhere = where === null || !isNewest ? null : requiredIds(where);
  const lists = [ids, fromWhere].filter((list) => list !== null);
  return lists.reduce((rows, list) => {
    const kept = RowSet.empty(live.segments);
    for (const id of list) {
      const position = index.position(id);
      if (position !== null && rows.has(position)) kept.add(position);
    }
    return kept;
  }, live);
}

/** Without a filter the candidates themselves. Not to be changed: the next search may get the same. */
export async function filterRows(
  filter: Filter | null,
  candidates: RowSet,
  view: RecordView,
  pace: Pace,
): Promise<RowSet> {
  if (filter === null) return candidates;
  const { snapshot } = view;
  const key = candidates === snapshot.live ? filter.key : null;
  if (key === null) return matchingRows(filter, candidates, view, pace);
  const known = snapshot.filtered(key);
  if (known !== null) return known;
  const matches = await matchingRows(filter, candidates, view, pace);
  snapshot.remember(key, matches);
  return matches;
}

async function matchingRows(
  filter: Filter,
  candidates: RowSet,
  view: RecordView,
  pace: Pace,
): Promise<RowSet> {
  const planned = filter.plan(pace);
  const plan = planned instanceof Promise ? await planned : planned;
  const matches = RowSet.empty(candidates.segments);
  const row = new ViewedRow(view);
  for (const [index, segment] of view.snapshot.segments.entries()) {
    const wanted = candidates.segment(index);
    if (isEmpty(wanted)) continue;
    const work = new SegmentFilter(segment, index, row).matching(plan, wanted);
    for (let step = work.next(); ; step = work.next()) {
      if (step.done === true) {
        matches.segment(index).set(step.value);
        break;
      }
      await pace.breathe();
    }
  }
  await pace.breathe();
  return matches;
}

class SegmentFilter {
  readonly #segment: Segment;
  readonly #firstPosition: number;
  readonly #row: ViewedRow;

  constructor(segment: Segment, index: number, row: ViewedRow) {
    this.#segment = segment;
    this.#firstPosition = index * SEGMENT_ROWS;
    this.#row = row;
  }

  /** Those of the rows that match, in words of its own. Pauses after each stretch of work. */
  *matching(plan: WherePlan, rows: Uint32Array): Generator<void, Uint32Array> {
    if ("children" in plan) {
      return yield* plan.type === "and" ? this.#all(plan.children, rows) : this.#any(plan.children, rows);
    }
    if (plan.type === "metadata") return yield* this.#metadata(plan, rows);
    if (plan.type === "document") return yield* this.#document(plan, rows);
    return yield* this.#tested(plan.matches, rows);
  }

  *#all(plans: readonly WherePlan[], rows: Uint32Array): Generator<void, Uint32Array> {
    let left: Uint32Array = rows.slice();
    for (const plan of this.#inOrder(plans)) {
      if (isEmpty(left)) break;
      left = yield* this.matching(plan, left);
    }
    return left;
  }

  *#any(plans: readonly WherePlan[], rows: Uint32Array): Generator<void, Uint32Array> {
    const found = new Uint32Array(SEGMENT_WORDS);
    const left = rows.slice();
    for (const plan of [...plans].sort((a, b) => a.cost - b.cost)) {
      const more = yield* this.matching(plan, left);
      for (let i = 0; i < SEGMENT_WORDS; i++) {
        found[i]! |= more[i]!;
        left[i]! &= ~more[i]!;
      }
      if (isEmpty(left)) break;
    }
    return found;
  }

  *#metadata(plan: MetadataPlan, rows: Uint32Array): Generator<void, Uint32Array> {
    const { columns } = this.#segment;
    const { key, query, negated } = plan;
    const made = columns.peek(key) !== undefined;
    if (!made && countBits(rows) <= FEW_ROWS) return yield* this.#tested(plan.matches, rows);
    const found = query === null ? null : columns.column(key).select(query).bits();
    if (!made) yield;
    const matches = new Uint32Array(SEGMENT_WORDS);
    const covered = columns.rows / 32;
    for (let i = 0; i < covered; i++) {
      const word = found === null ? 0 : found[i]!;
      matches[i] = rows[i]! & (negated ? ~word : word);
    }
    if (covered === SEGMENT_WORDS) return matches;
    const newer = rows.slice();
    newer.fill(0, 0, covered);
    return union(matches, yield* this.#tested(plan.matches, newer));
  }

  *#document(plan: DocumentPlan, rows: Uint32Array): Generator<void, Uint32Array> {
    const possible = this.#possible(plan.required);
    const unlike = rows.slice();
    for (let i = 0; i < SEGMENT_WORDS; i++) {
      possible[i]! &= rows[i]!;
      unlike[i]! &= ~possible[i]!;
    }
    const tested = yield* this.#tested(plan.matches, possible);
    // What cannot contain the text matches its negation unread.
    return plan.negated ? union(tested, unlike) : tested;
  }

  #possible(required: DocumentPlan["required"]): Uint32Array {
    const { signatures } = this.#segment;
    if (required === null) return signatures.having(new Uint32Array(0));
    return required.map((buckets) => signatures.having(buckets)).reduce(union);
  }

  *#tested(matches: Predicate, rows: Uint32Array): Generator<void, Uint32Array> {
    const found = new Uint32Array(SEGMENT_WORDS);
    for (const local of listBits(rows)) {
      this.#row.moveTo(this.#firstPosition + local, this.#segment.ids[local]!);
      if (matches(this.#row)) found[local >>> 5]! |= 1 << (local & 31);
      if (this.#row.work < ROWS_PER_BREATH) continue;
      this.#row.work = 0;
      yield;
    }
    return found;
  }

  /** Cheap clauses first; of those that columns answer, the one with the fewest matches. */
  #inOrder(plans: readonly WherePlan[]): readonly WherePlan[] {
    return plans
      .map((plan) => ({ plan, expected: this.#expected(plan) }))
      .sort((a, b) => a.plan.cost - b.plan.cost || a.expected - b.expected)
      .map(({ plan }) => plan);
  }

  /** Matches as far as the columns that are there can tell. */
  #expected(plan: WherePlan): number {
    if (plan.type === "and")
      return Math.min(SEGMENT_ROWS, ...plan.children.map((child) => this.#expected(child)));
    if (plan.type === "or") return plan.children.reduce((sum, child) => sum + this.#expected(child), 0);
    if (plan.type !== "metadata") return SEGMENT_ROWS;
    const column = this.#segment.columns.peek(plan.key);
    if (column === undefined) return SEGMENT_ROWS;
    const count = plan.query === null ? 0 : column.select(plan.query).count;
    return plan.negated ? SEGMENT_ROWS - count : count;
  }
}

/** One object for all rows: a predicate sees it only during its call. */
class ViewedRow implements FilterRow {
  id = "";
  work = 0;
  readonly #view: RecordView;
  #position = 0;
  #document: string | null | undefined = undefined;

  constructor(view: RecordView) {
    this.#view = view;
  }

  moveTo(position: number, id: string): void {
    this.#position = position;
    this.id = id;
    this.#document = undefined;
    this.work++;
  }

  value(key: string): MetadataValue | undefined {
    return this.#view.snapshot.metadataValue(this.#position, key);
  }

  document(): string | null {
    if (this.#document === undefined) {
      this.#document = this.#view.read(this.#position).document;
      this.work += 1 + (this.#document ?? "").length / CHARACTERS_PER_ROW;
    }
    return this.#document;
  }
}

function isEmpty(words: Uint32Array): boolean {
  return words.every((word) => word === 0);
}

/** Into the first. */
function union(into: Uint32Array, other: Uint32Array): Uint32Array {
  for (let i = 0; i < into.length; i++) into[i]! |= other[i]!;
  return into;
}

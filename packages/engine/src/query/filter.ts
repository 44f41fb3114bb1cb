/**
 * The filter stage: which of the candidate rows match a `where`. Segment by segment, each clause on what the clauses
 * before it left: the cheap ones first, among those the ones that fewest rows match, and none once nothing is left.
 * Regular expressions run in another thread, of all segments together.
 */
import assert from "node:assert/strict";
import type { MetadataValue, Selector } from "@sheaf/protocol";
import type { ExactIndex } from "../index/exact-index.ts";
import { RowSet, countBits, listBits } from "../index/row-set.ts";
import type { Segment } from "../index/segment.ts";
import type { TrigramQuery } from "../index/trigram-query.ts";
import type { Pace } from "./pace.ts";
import type { RecordView } from "./record-view.ts";
import { type RegexTest, scanDocuments } from "./regex-scan.ts";
import type { RequestPatterns } from "./request-patterns.ts";
import type { ContainsPlan, Filter, MetadataPlan, RegexPlan, WherePlan } from "./where-plan.ts";
import { type FilterRow, type Predicate, requiredIds } from "./where-predicate.ts";

/** Work between two looks at the clock, in rows; a document counts by its length. */
const ROWS_PER_BREATH = 256;
const BYTES_PER_ROW = 256;
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
    const kept = new RowSet(live.bases);
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

/** The work on one segment: it pauses after each stretch, and where it has to be told which rows match a pattern. */
type SegmentWork = Generator<RegexTest | undefined, Uint32Array>;

async function matchingRows(
  filter: Filter,
  candidates: RowSet,
  view: RecordView,
  pace: Pace,
): Promise<RowSet> {
  const planned = filter.plan(pace);
  const plan = planned instanceof Promise ? await planned : planned;
  const matches = new RowSet(candidates.bases);
  const row = new ViewedRow(view);
  let open: { readonly index: number; readonly work: SegmentWork }[] = [];
  for (const [index, segment] of view.snapshot.segments.entries()) {
    const wanted = candidates.segment(index);
    if (isEmpty(wanted)) continue;
    const { patterns } = filter;
    const place = { index, firstPosition: candidates.bases.of(index) };
    open.push({
      index,
      work: new SegmentFilter(segment, { ...place, row, patterns }).matching(plan, wanted),
    });
  }
  while (open.length > 0) {
    const tests: RegexTest[] = [];
    const waiting: typeof open = [];
    for (const one of open) {
      const test = await untilTest(one.work, pace);
      if (test instanceof Uint32Array) matches.segment(one.index).set(test);
      else {
        tests.push(test);
        waiting.push(one);
      }
    }
    if (tests.length > 0) await scanDocuments(tests, filter.patterns, { view, pace });
    open = waiting;
  }
  await pace.breathe();
  return matches;
}

/** The rows that match, or what has to be known before. */
async function untilTest(work: SegmentWork, pace: Pace): Promise<RegexTest | Uint32Array> {
  for (;;) {
    const { value } = work.next();
    if (value !== undefined) return value;
    await pace.breathe();
  }
}

interface SegmentContext {
  readonly index: number;
  readonly firstPosition: number;
  readonly row: ViewedRow;
  readonly patterns: RequestPatterns;
}

class SegmentFilter {
  readonly #segment: Segment;
  readonly #index: number;
  readonly #firstPosition: number;
  readonly #row: ViewedRow;
  readonly #patterns: RequestPatterns;

  constructor(segment: Segment, { index, firstPosition, row, patterns }: SegmentContext) {
    this.#segment = segment;
    this.#index = index;
    this.#firstPosition = firstPosition;
    this.#row = row;
    this.#patterns = patterns;
  }

  /** Those of the rows that match, in words of its own. Pauses after each stretch of work. */
  *matching(plan: WherePlan, rows: Uint32Array): SegmentWork {
    if ("children" in plan) {
      return yield* plan.type === "and" ? this.#all(plan.children, rows) : this.#any(plan.children, rows);
    }
    if (plan.type === "metadata") return yield* this.#metadata(plan, rows);
    if (plan.type === "contains") return yield* this.#contains(plan, rows);
    if (plan.type === "regex") return yield* this.#regex(plan, rows);
    return yield* this.#tested(plan.matches, rows);
  }

  *#all(plans: readonly WherePlan[], rows: Uint32Array): SegmentWork {
    let left: Uint32Array = rows.slice();
    for (const plan of this.#inOrder(plans)) {
      if (isEmpty(left)) break;
      left = yield* this.matching(plan, left);
    }
    return left;
  }

  *#any(plans: readonly WherePlan[], rows: Uint32Array): SegmentWork {
    const found = new Uint32Array(rows.length);
    const left = rows.slice();
    for (const plan of [...plans].sort((a, b) => a.cost - b.cost)) {
      const more = yield* this.matching(plan, left);
      for (let i = 0; i < rows.length; i++) {
        found[i]! |= more[i]!;
        left[i]! &= ~more[i]!;
      }
      if (isEmpty(left)) break;
    }
    return found;
  }

  *#metadata(plan: MetadataPlan, rows: Uint32Array): SegmentWork {
    const { columns } = this.#segment;
    const { key, query, negated } = plan;
    const made = columns.peek(key) !== undefined;
    if (!made && countBits(rows) <= FEW_ROWS) return yield* this.#tested(plan.matches, rows);
    const found = query === null ? null : columns.column(key).select(query).bits();
    if (!made) yield;
    const matches = new Uint32Array(rows.length);
    const covered = columns.rows / 32;
    for (let i = 0; i < covered; i++) {
      const word = found === null ? 0 : found[i]!;
      matches[i] = rows[i]! & (negated ? ~word : word);
    }
    if (covered === rows.length) return matches;
    const newer = rows.slice();
    newer.fill(0, 0, covered);
    return union(matches, yield* this.#tested(plan.matches, newer));
  }

  *#contains({ required, negated, matches }: ContainsPlan, rows: Uint32Array): SegmentWork {
    const possible = this.#possible(required, rows);
    const tested = yield* this.#tested(matches, possible);
    // What cannot contain the text matches its negation unread.
    return negated ? union(tested, without(rows, possible)) : tested;
  }

  *#regex({ pattern, negated }: RegexPlan, rows: Uint32Array): SegmentWork {
    const possible = this.#possible(this.#patterns.required(pattern), rows);
    const found = new Uint32Array(rows.length);
    yield;
    if (!isEmpty(possible)) yield { pattern, segment: this.#index, rows: possible, found };
    return negated ? without(rows, found) : found;
  }

  /** Those of the rows that have a document and its trigrams. */
  #possible(required: TrigramQuery, rows: Uint32Array): Uint32Array {
    const possible = this.#segment.signatures.having(required);
    for (let i = 0; i < rows.length; i++) possible[i]! &= rows[i]!;
    return possible;
  }

  *#tested(matches: Predicate, rows: Uint32Array): SegmentWork {
    const found = new Uint32Array(rows.length);
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
      return Math.min(this.#segment.capacity, ...plan.children.map((child) => this.#expected(child)));
    if (plan.type === "or") return plan.children.reduce((sum, child) => sum + this.#expected(child), 0);
    if (plan.type !== "metadata") return this.#segment.capacity;
    const column = this.#segment.columns.peek(plan.key);
    if (column === undefined) return this.#segment.capacity;
    const count = plan.query === null ? 0 : column.select(plan.query).count;
    return plan.negated ? this.#segment.capacity - count : count;
  }
}

/** One object for all rows: a predicate sees it only during its call. */
class ViewedRow implements FilterRow {
  id = "";
  work = 0;
  readonly #view: RecordView;
  #position = 0;
  #document: Uint8Array | null | undefined = undefined;

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

  document(): Uint8Array | null {
    if (this.#document === undefined) {
      this.#document = this.#view.document(this.#position);
      this.work += 1 + (this.#document?.length ?? 0) / BYTES_PER_ROW;
    }
    return this.#document;
  }
}

function isEmpty(words: Uint32Array): boolean {
  return words.every((word) => word === 0);
}

function without(rows: Uint32Array, others: Uint32Array): Uint32Array {
  return rows.map((word, i) => word & ~others[i]!);
}

/** Into the first. */
function union(into: Uint32Array, other: Uint32Array): Uint32Array {
  for (let i = 0; i < into.length; i++) into[i]! |= other[i]!;
  return into;
}

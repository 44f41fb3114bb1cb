/**
 * The filter stage: which of the candidate rows match a `where`. Block by block, each clause on what the clauses
 * before it left: the cheap ones first, among those the ones that fewest rows match, and none once nothing is left.
 * Regular expressions run in another thread, of all blocks together.
 */
import assert from "node:assert/strict";
import { type MetadataValue, type Selector, isSparseVector } from "@sheaf/protocol";
import { BLOCK_DOCS, BLOCK_WORDS } from "../../segment/block-docs.ts";
import type { CollectionIndex } from "../../index/collection-index.ts";
import { addBits, countBits, dropBits, isEmpty, keepBits, listBits } from "../../segment/bits.ts";
import { RowSet } from "../../index/row-set.ts";
import type { TrigramQuery } from "../../segment/trigrams/trigram-query.ts";
import { AbsentTogether } from "../../storage/data-absent.ts";
import type { MetadataColumn, ColumnQuery } from "../../segment/columns/metadata-column.ts";
import type { RowSelection } from "../../segment/columns/row-selection.ts";
import type { DocBlock } from "../../segment/doc-block.ts";
import type { Pace } from "../pace.ts";
import type { RecordView } from "../record-view.ts";
import { type RegexTest, scanDocuments } from "../regex/regex-scan.ts";
import type { RequestPatterns } from "../regex/request-patterns.ts";
import type { ContainsPlan, Filter, MetadataPlan, RegexPlan, WherePlan } from "./where-plan.ts";
import { type FilterRow, type Predicate, requiredIds } from "./where-predicate.ts";

/** Work between two looks at the clock, in rows; a document counts by its length. */
const ROWS_PER_BREATH = 256;
const BYTES_PER_ROW = 256;
/** What a clause takes that a column answers, and so many of the values of a list. */
const CLAUSE_ROWS = 8;
const VALUES_PER_ROW = 8;
/** Members of an array that take as long as a row without one. */
const MEMBERS_PER_ROW = 16;
/** Candidates that are sooner tested than a column is made for them. */
const FEW_ROWS = 64;

/**
 * The live rows that ids leave over. Positions of ids are those of the newest snapshot: `ids` have to be asked for
 * before anything is waited for, and those of a `where` count only then, for the filter tests them as well.
 */
export function candidateRows(index: CollectionIndex, selector: Selector, view: RecordView): RowSet {
  return rowsOfCandidates(candidatePositions(index, selector, view), view);
}

/** As `candidateRows`, while it is not known whether they are needed: a set takes a bit for each row of the index. `null`: all. */
export function candidatePositions(
  index: CollectionIndex,
  { ids, where }: Selector,
  { snapshot }: RecordView,
): Int32Array | null {
  const { live } = snapshot;
  const isNewest = index.snapshot() === snapshot;
  assert(ids === null || isNewest, "ids are looked up before the read waits");
  const fromWhere = where === null || !isNewest ? null : requiredIds(where);
  const listed = ids ?? fromWhere;
  if (listed === null) return null;
  const wanted = ids === null || fromWhere === null ? null : new Set(fromWhere);
  const positions: number[] = [];
  for (const id of listed) {
    const position = wanted?.has(id) === false ? null : index.position(id);
    if (position !== null && live.has(position)) positions.push(position);
  }
  return Int32Array.from(positions);
}

export function rowsOfCandidates(
  positions: Int32Array | null,
  { snapshot: { live } }: Pick<RecordView, "snapshot">,
): RowSet {
  if (positions === null) return live;
  const rows = new RowSet(live.bases);
  for (const position of positions) rows.add(position);
  return rows;
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

/** The work on one block of rows: it pauses after each stretch, and where it has to be told which rows match a pattern. */
type BlockWork = Generator<RegexTest | undefined, Uint32Array>;

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
  let open: { readonly index: number; readonly work: BlockWork }[] = [];
  for (const [index, block] of view.snapshot.blocks.entries()) {
    const wanted = candidates.words.subarray(index * BLOCK_WORDS, (index + 1) * BLOCK_WORDS);
    if (block === undefined || isEmpty(wanted)) continue;
    const { patterns } = filter;
    const first = index * BLOCK_DOCS;
    open.push({ index, work: new BlockFilter(block, { first, row, patterns }).matching(plan, wanted) });
  }
  const absent = new AbsentTogether();
  while (open.length > 0) {
    const tests: RegexTest[] = [];
    const waiting: typeof open = [];
    for (const one of open) {
      try {
        const test = await untilTest(one.work, pace);
        if (test instanceof Uint32Array) {
          matches.words.set(test, one.index * BLOCK_WORDS);
          continue;
        }
        tests.push(test);
        waiting.push(one);
      } catch (error) {
        absent.hear(error);
      }
    }
    absent.require();
    if (tests.length > 0) await scanDocuments(tests, filter.patterns, { view, pace });
    open = waiting;
  }
  await pace.breathe();
  return matches;
}

/** The rows that match, or what has to be known before. */
async function untilTest(work: BlockWork, pace: Pace): Promise<RegexTest | Uint32Array> {
  for (;;) {
    const { value } = work.next();
    if (value !== undefined) return value;
    await pace.breathe();
  }
}

interface BlockContext {
  /** Position of row 0. */
  readonly first: number;
  readonly row: ViewedRow;
  readonly patterns: RequestPatterns;
}

class BlockFilter {
  readonly #block: DocBlock;
  readonly #first: number;
  readonly #row: ViewedRow;
  readonly #patterns: RequestPatterns;
  /** Made to place clauses, until they are answered. */
  readonly #selections = new Map<ColumnQuery, RowSelection>();

  constructor(block: DocBlock, { first, row, patterns }: BlockContext) {
    this.#block = block;
    this.#first = first;
    this.#row = row;
    this.#patterns = patterns;
  }

  /** Those of the rows that match, in words of its own. Pauses after each stretch of work. */
  *matching(plan: WherePlan, rows: Uint32Array): BlockWork {
    if ("children" in plan) {
      return yield* plan.type === "and" ? this.#all(plan.children, rows) : this.#any(plan.children, rows);
    }
    if (plan.type === "metadata") return yield* this.#metadata(plan, rows);
    if (plan.type === "contains") return yield* this.#contains(plan, rows);
    if (plan.type === "regex") return yield* this.#regex(plan, rows);
    return yield* this.#tested(plan.matches, rows);
  }

  *#all(plans: readonly WherePlan[], rows: Uint32Array): BlockWork {
    let left: Uint32Array = rows.slice();
    for (const plan of yield* this.#inOrder(plans)) {
      if (isEmpty(left)) break;
      left = yield* this.matching(plan, left);
    }
    this.#selections.clear();
    return left;
  }

  *#any(plans: readonly WherePlan[], rows: Uint32Array): BlockWork {
    const found = new Uint32Array(rows.length);
    const left = rows.slice();
    for (const plan of [...plans].sort((a, b) => a.cost - b.cost)) {
      const more = yield* this.matching(plan, left);
      addBits(found, more);
      dropBits(left, more);
      if (isEmpty(left)) break;
    }
    return found;
  }

  *#metadata(plan: MetadataPlan, rows: Uint32Array): BlockWork {
    const { columns } = this.#block;
    const { key, query, negated } = plan;
    const made = columns.peek(key) !== undefined;
    if (!made && countBits(rows) <= FEW_ROWS) return yield* this.#tested(plan.matches, rows);
    const column = query === null ? undefined : yield* columns.column(key);
    if (column === null) return yield* this.#tested(plan.matches, rows);
    const found = query === null ? null : this.#select(column!, query).bits();
    if (query !== null) this.#selections.delete(query);
    if (this.#isDue(made ? CLAUSE_ROWS : ROWS_PER_BREATH)) yield;
    const covered = columns.rows / 32;
    const matches = rows.slice();
    matches.fill(0, found === null && !negated ? 0 : covered);
    if (found !== null && negated) dropBits(matches, found);
    else if (found !== null) keepBits(matches, found);
    if (covered === rows.length) return matches;
    const newer = rows.slice();
    newer.fill(0, 0, covered);
    addBits(matches, yield* this.#tested(plan.matches, newer));
    return matches;
  }

  *#contains({ required, negated, matches }: ContainsPlan, rows: Uint32Array): BlockWork {
    const possible = this.#possible(required, rows);
    // Where no row is left to test, nothing else would pause between hundreds of clauses.
    yield;
    const tested = yield* this.#tested(matches, possible);
    // What cannot contain the text matches its negation unread.
    if (negated) addBits(tested, without(rows, possible));
    return tested;
  }

  *#regex({ pattern, negated }: RegexPlan, rows: Uint32Array): BlockWork {
    const possible = this.#possible(this.#patterns.required(pattern), rows);
    const found = new Uint32Array(rows.length);
    yield;
    if (!isEmpty(possible)) yield { pattern, first: this.#first, rows: possible, found };
    return negated ? without(rows, found) : found;
  }

  /** Those of the rows that have a document and its trigrams. */
  #possible(required: TrigramQuery, rows: Uint32Array): Uint32Array {
    const possible = this.#block.signatures.having(required);
    keepBits(possible, rows);
    return possible;
  }

  *#tested(matches: Predicate, rows: Uint32Array): BlockWork {
    const found = new Uint32Array(rows.length);
    for (const local of listBits(rows)) {
      this.#row.moveTo(this.#first + local);
      if (matches(this.#row)) found[local >>> 5]! |= 1 << (local & 31);
      if (this.#isDue(0)) yield;
    }
    return found;
  }

  /** Counts work on so many rows. `true`: it is time to pause. */
  #isDue(rows: number): boolean {
    this.#row.work += rows;
    if (this.#row.work < ROWS_PER_BREATH) return false;
    this.#row.work = 0;
    return true;
  }

  /** To look up a long list takes a while, and is done to place the clause and to answer it. */
  #select(column: MetadataColumn, query: ColumnQuery): RowSelection {
    let selection = this.#selections.get(query);
    if (selection === undefined) {
      this.#selections.set(query, (selection = column.select(query)));
      const values = query.type === "equal" ? Math.min(query.values.size, BLOCK_DOCS) : 0;
      this.#row.work += values / VALUES_PER_ROW;
    }
    return selection;
  }

  /** Cheap clauses first; of those that columns answer, the one with the fewest matches. */
  *#inOrder(plans: readonly WherePlan[]): Generator<undefined, readonly WherePlan[]> {
    const placed: { readonly plan: WherePlan; readonly expected: number }[] = [];
    for (const plan of plans) {
      placed.push({ plan, expected: this.#expected(plan) });
      if (this.#isDue(1)) yield;
    }
    return placed
      .sort((a, b) => a.plan.cost - b.plan.cost || a.expected - b.expected)
      .map(({ plan }) => plan);
  }

  /** Matches as far as the columns that are there can tell. */
  #expected(plan: WherePlan): number {
    if (plan.type === "and")
      return Math.min(BLOCK_DOCS, ...plan.children.map((child) => this.#expected(child)));
    if (plan.type === "or") return plan.children.reduce((sum, child) => sum + this.#expected(child), 0);
    if (plan.type !== "metadata") return BLOCK_DOCS;
    const column = this.#block.columns.peek(plan.key);
    if (column === undefined) return BLOCK_DOCS;
    const count = plan.query === null ? 0 : this.#select(column, plan.query).count;
    return plan.negated ? BLOCK_DOCS - count : count;
  }
}

/** One object for all rows: a predicate sees it only during its call. */
class ViewedRow implements FilterRow {
  work = 0;
  readonly #view: RecordView;
  #position = 0;
  #document: Uint8Array | null | undefined = undefined;

  constructor(view: RecordView) {
    this.#view = view;
  }

  get id(): string {
    return this.#view.snapshot.id(this.#position);
  }

  moveTo(position: number): void {
    this.#position = position;
    this.#document = undefined;
    this.work++;
  }

  value(key: string): MetadataValue | undefined {
    const value = this.#view.snapshot.metadataValue(this.#position, key);
    if (typeof value === "object" && !isSparseVector(value)) this.work += value.length / MEMBERS_PER_ROW;
    return value;
  }

  document(): Uint8Array | null {
    if (this.#document === undefined) {
      this.#document = this.#view.document(this.#position);
      this.work += 1 + (this.#document?.length ?? 0) / BYTES_PER_ROW;
    }
    return this.#document;
  }
}

/** The bits of the first that the second lacks. */
export function without(rows: Uint32Array, others: Uint32Array): Uint32Array<ArrayBuffer> {
  const left = Uint32Array.from(rows);
  dropBits(left, others);
  return left;
}

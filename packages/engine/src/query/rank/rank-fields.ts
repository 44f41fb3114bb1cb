/**
 * The rank stage of an expression with `$key` or `$age`: block by block of the snapshot. Which leaves let records in by
 * themselves follows from the expression; the values of the others are only looked up for records that those have.
 */
import type { FieldLeaf, Rank } from "@sheaf/protocol";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import type { RowSet } from "../../index/row-set.ts";
import { hasBit, listBits } from "../../segment/bits.ts";
import { BLOCK_DOCS, BLOCK_WORDS } from "../../segment/block-docs.ts";
import type { DocBlock } from "../../segment/doc-block.ts";
import type { Pace } from "../pace.ts";
import { type Scored, sortScored } from "../score-order.ts";
import { FieldBlock, readField } from "./field-values.ts";
import { type Finds, joined } from "./finds.ts";
import { type Leaf, leavesOf } from "./leaves.ts";

import { type FoundByLeaf, evaluateRank } from "./rank-expression.ts";

export interface FieldReading {
  /** Those that passed the filter. */
  readonly rows: RowSet;
  readonly snapshot: IndexSnapshot;
  readonly pace: Pace;
}

/** A leaf of the expression: what a `$knn` found, or a field with room for its values in the current block. */
type Source =
  | { readonly finds: Finds }
  | { readonly field: FieldLeaf; readonly letsIn: boolean; readonly block: FieldBlock };

/** `finds`: of the `$knn` leaves, in their order. */
export async function rankFields(
  rank: Rank,
  finds: readonly Finds[],
  { rows, snapshot, pace }: FieldReading,
): Promise<Scored> {
  const sources = sourcesOf(rank, finds);
  const found: Scored[] = [];
  for (const [i, block] of snapshot.blocks.entries()) {
    if (block === undefined) continue;
    const wanted = rows.words.subarray(i * BLOCK_WORDS, (i + 1) * BLOCK_WORDS);
    const steps = candidates(sources, { block, wanted, first: i * BLOCK_DOCS });
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) await pace.breathe();
    const scored = score(rank, step.value, i * BLOCK_DOCS);
    if (scored !== null) found.push(scored);
    await pace.breathe();
  }
  return sortScored(joined(found), snapshot, pace);
}

function sourcesOf(rank: Rank, finds: readonly Finds[]): readonly Source[] {
  const leaves = leavesOf(rank);
  const lettingIn = reachOf(rank).fields;
  let knn = 0;
  return leaves.map((leaf) => {
    if (leaf.type === "knn") return { finds: finds[knn++]! };
    return { field: leaf, letsIn: lettingIn.includes(leaf), block: new FieldBlock() };
  });
}

interface Share {
  readonly block: DocBlock;
  readonly wanted: Uint32Array;
  /** Position of row 0. */
  readonly first: number;
}

interface Candidates {
  /** Ascending. */
  readonly rows: readonly number[];
  /** One for each leaf, of these rows. */
  readonly leaves: readonly FoundByLeaf[];
}

/** The rows that may be in the support, and what the leaves have of them. Pauses about every millisecond. */
function* candidates(
  sources: readonly Source[],
  { block, wanted, first }: Share,
): Generator<undefined, Candidates> {
  const mask = new Uint32Array(BLOCK_WORDS);
  const starts: number[] = [];
  for (const source of sources) {
    if ("finds" in source) starts.push(addFinds(source.finds, first, mask));
    else if (source.letsIn) {
      yield* readField(block, source.field, wanted, source.block);
      for (let i = 0; i < BLOCK_WORDS; i++) mask[i]! |= source.block.present[i]!;
    }
  }
  const rows = listBits(mask);
  if (rows.length === 0) return { rows, leaves: [] };
  const leaves: FoundByLeaf[] = [];
  let knn = 0;
  for (const source of sources) {
    if ("finds" in source) leaves.push(foundOf(source.finds, starts[knn++]!, { rows, first }));
    else {
      if (!source.letsIn) yield* readField(block, source.field, mask, source.block);
      leaves.push(valuesOf(source.block, rows));
    }
  }
  return { rows, leaves };
}

/** Of the block that begins at `first`; returns where they begin. */
function addFinds(finds: Finds, first: number, mask: Uint32Array): number {
  const start = finds.at;
  const { positions } = finds;
  for (; finds.at < positions.length && positions[finds.at]! < first + BLOCK_DOCS; finds.at++) {
    const row = positions[finds.at]! - first;
    mask[row >>> 5]! |= 1 << (row & 31);
  }
  return start;
}

function foundOf(
  { positions, values: found, at }: Finds,
  start: number,
  { rows, first }: { readonly rows: readonly number[]; readonly first: number },
): FoundByLeaf {
  const values = new Float32Array(rows.length);
  const present = new Uint8Array(rows.length);
  for (let i = 0, next = start; i < rows.length && next < at; i++) {
    if (positions[next] !== first + rows[i]!) continue;
    values[i] = found[next++]!;
    present[i] = 1;
  }
  return { values, present };
}

function valuesOf(block: FieldBlock, rows: readonly number[]): FoundByLeaf {
  const values = new Float32Array(rows.length);
  const present = new Uint8Array(rows.length);
  for (let i = 0; i < rows.length; i++) {
    if (!hasBit(block.present, rows[i]!)) continue;
    values[i] = block.values[rows[i]!]!;
    present[i] = 1;
  }
  return { values, present };
}

/** `null`: none is in the support. */
function score(rank: Rank, { rows, leaves }: Candidates, first: number): Scored | null {
  if (rows.length === 0) return null;
  const { values, present } = evaluateRank(rank, leaves);
  const positions = new Int32Array(rows.length);
  let count = 0;
  for (let i = 0; i < rows.length; i++) {
    if (present[i] !== 1) continue;
    positions[count] = first + rows[i]!;
    values[count++] = values[i]!;
  }
  return { positions: positions.slice(0, count), scores: values.slice(0, count) };
}

/** Fields whose records, together with those that `$knn` leaves found, are all that an expression can have. */
interface Reach {
  readonly fields: readonly Leaf[];
  readonly hasDefault: boolean;
}

function reachOf(rank: Rank): Reach {
  if (rank.type === "val") return { fields: [], hasDefault: true };
  if (rank.type === "knn") return { fields: [], hasDefault: rank.default !== null };
  if (rank.type === "unary") return reachOf(rank.operand);
  if (rank.type === "binary") return jointReach(reachOf(rank.left), reachOf(rank.right));
  if (rank.type === "nary") return rank.operands.map(reachOf).reduce(jointReach);
  return { fields: [rank], hasDefault: rank.default !== null };
}

/** Records of both where both have a default, of that without one, or only those that both have. */
function jointReach(a: Reach, b: Reach): Reach {
  if (a.hasDefault && b.hasDefault) return { fields: [...a.fields, ...b.fields], hasDefault: true };
  const isOfA = a.hasDefault === b.hasDefault ? a.fields.length <= b.fields.length : b.hasDefault;
  return { fields: isOfA ? a.fields : b.fields, hasDefault: false };
}

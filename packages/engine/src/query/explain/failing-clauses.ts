/**
 * The clause of a filter that each of some rows does not match: of an `$and` the first child that lets it fall, of an
 * `$or` that itself. Clauses are tried one after the other, each on the rows that those before it left, by the filter stage.
 */
import { type Where, itemPath, memberPath } from "@sheaf/protocol";
import { RowSet } from "../../index/row-set.ts";
import { listBits } from "../../segment/bits.ts";
import { filterRows, without } from "../filter/filter.ts";
import { planFilter } from "../filter/where-plan.ts";
import type { Pace } from "../pace.ts";
import type { RecordView } from "../record-view.ts";
import type { RequestPatterns } from "../regex/request-patterns.ts";

interface Reading {
  readonly view: RecordView;
  readonly pace: Pace;
  /** Of the request; they have been checked. */
  readonly patterns: RequestPatterns;
}

/** By position, the path of the clause. None of the rows matches the filter. */
export async function failingClauses(
  where: Where,
  rows: RowSet,
  reading: Reading,
): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  await addClauses({ where, path: "where", rows }, reading, found);
  return found;
}

interface Failing {
  readonly where: Where;
  readonly path: string;
  /** Those that do not match it. */
  readonly rows: RowSet;
}

async function addClauses(
  { where, path, rows }: Failing,
  reading: Reading,
  found: Map<number, string>,
): Promise<void> {
  if (where.type !== "and") {
    const at = clausePath(where, path);
    for (const position of listBits(rows.words)) found.set(position, at);
    return;
  }
  let left = rows;
  for (const [i, child] of where.children.entries()) {
    const at = itemPath(memberPath(path, "$and"), i);
    const filter = planFilter(child, at, reading.patterns);
    const passed = await filterRows(filter, left, reading.view, reading.pace);
    const failed = new RowSet(left.bases, without(left.words, passed.words));
    if (failed.count() > 0) await addClauses({ where: child, path: at, rows: failed }, reading, found);
    if (passed.count() === 0) return;
    left = passed;
  }
}

function clausePath(where: Exclude<Where, { type: "and" }>, path: string): string {
  if (where.type === "or") return memberPath(path, "$or");
  if ("key" in where) return memberPath(path, where.key);
  return memberPath(path, where.type === "id" ? "#id" : "#document");
}

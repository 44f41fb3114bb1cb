/**
 * Which records `ids`, `where` and `where_document` of a request select. In a collection with chunks an id stands for the
 * chunks of its document, too.
 */
import { type CancelSignal, type Selector, type Where, parentOf } from "@sheaf/protocol";
import type { CollectionIndex } from "../index/collection-index.ts";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { RowSet } from "../index/row-set.ts";
import { listBits } from "../segment/bits.ts";
import { candidateRows, filterRows } from "./filter/filter.ts";
import { type Filter, planFilter } from "./filter/where-plan.ts";
import type { Reading } from "./group/member-order.ts";
import type { Pace } from "./pace.ts";
import type { QueryContext } from "./query-context.ts";
import { RequestPatterns } from "./regex/request-patterns.ts";

/** A selection whose patterns are checked. */
export interface Selection extends Selector {
  readonly filter: Filter | null;
  /** What chunks of documents with these ids, and maybe other records, match; `null`: ids stand for themselves only. */
  readonly ofDocuments: Filter | null;
}

export async function planSelection(
  { regexes, plan }: QueryContext,
  { ids, where }: Selector,
  signal: CancelSignal | undefined,
  path = "where",
): Promise<Selection> {
  const patterns = new RequestPatterns(regexes, signal);
  const filter = planWhere(where, path, patterns);
  if (!patterns.isEmpty) await patterns.check();
  const hasChunks = ids !== null && ids.length > 0 && plan.chunking !== undefined;
  const parents: Where | null = hasChunks ? { type: "in", negated: false, key: "parent", values: ids } : null;
  return { ids, where, filter, ofDocuments: planWhere(parents, "ids", patterns) };
}

export function planWhere(where: Where | null, path: string, patterns: RequestPatterns): Filter | null {
  return where === null ? null : planFilter(where, path, patterns);
}

/** To be asked for before the read waits for anything. */
export function selectedRows(
  index: CollectionIndex,
  selection: Selection,
  reading: Reading,
): Promise<RowSet> {
  return selectedAmong(candidateRows(index, selection, reading.view), selection, reading);
}

/** `candidates`: those of the selection. */
export async function selectedAmong(
  candidates: RowSet,
  { filter, ofDocuments }: Selection,
  { view, pace }: Reading,
): Promise<RowSet> {
  let rows = candidates;
  if (ofDocuments !== null) {
    const named = await filterRows(ofDocuments, view.snapshot.live, view, pace);
    rows = union(rows, await chunksAmong(named, view.snapshot, pace));
  }
  return filterRows(filter, rows, view, pace);
}

/** Records of callers may have a `parent`, too: a chunk is one by its id as well. */
async function chunksAmong(rows: RowSet, snapshot: IndexSnapshot, pace: Pace): Promise<RowSet> {
  const chunks = new RowSet(rows.bases);
  for (const position of listBits(rows.words)) {
    const parent = snapshot.metadataValue(position, "parent");
    const metadata = new Map(typeof parent === "string" ? [["parent", parent]] : []);
    if (parentOf(snapshot.id(position), metadata) !== null) chunks.add(position);
    if (pace.isDue) await pace.breathe();
  }
  return chunks;
}

function union(a: RowSet, b: RowSet): RowSet {
  return new RowSet(
    a.bases,
    a.words.map((word, i) => word | b.words[i]!),
  );
}

/**
 * Completes the highlights of reads, batch by batch: those of the filter come from the engine, those of sparse text
 * queries are found by the text workers. Then all are put in order, and snippets are cut.
 */
import type { ResultBatch } from "@sheaf/engine";
import type { Bm25Options, Embedder } from "@sheaf/inference";
import { takeSlice } from "@sheaf/process";
import {
  type DocumentText,
  type HighlightRequest,
  LIMITS,
  type ResultRecord,
  documentPieces,
  mergeRanges,
  sourceBit,
  throwIfAborted,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import { shownRanges, snippetOf } from "./snippet.ts";
import { withinTextLimit } from "./text-limit.ts";

/** Terms of a query that documents show as words. */
export interface SoughtTerms {
  readonly model: string;
  readonly bm25: Bm25Options;
  /** Indices of the query's vector. */
  readonly terms: Uint32Array;
}

/** What one list of a read shows. */
export interface HighlightPlan extends HighlightRequest {
  /** Left out: there are none. */
  readonly terms?: readonly SoughtTerms[];
}

/** Gives a batch with its highlights. */
export type CompleteBatch = (batch: ResultBatch) => Promise<ResultBatch>;

type Shown = ResultRecord & { readonly document: DocumentText };

export class HighlightService {
  readonly #embedder: Embedder;

  constructor(embedder: Embedder) {
    this.#embedder = embedder;
  }

  /** `plans`: by list of the read. `undefined`: none asks for highlights. */
  completing(
    plans: readonly (HighlightPlan | undefined)[],
    budget: RequestBudget,
  ): CompleteBatch | undefined {
    if (plans.every((plan) => plan === undefined)) return undefined;
    return async (batch) => {
      const lists: (readonly ResultRecord[])[] = [];
      for (const [i, records] of batch.lists.entries()) {
        const plan = plans[batch.first + i];
        lists.push(plan === undefined ? records : await this.#complete(records, plan, budget));
      }
      return { ...batch, lists };
    };
  }

  async #complete(
    records: readonly ResultRecord[],
    plan: HighlightPlan,
    budget: RequestBudget,
  ): Promise<readonly ResultRecord[]> {
    const shown = records.filter(hasDocument);
    const words = await this.#find(shown, plan.terms ?? [], budget);
    const completed: ResultRecord[] = [];
    let next = 0;
    for (const record of records) {
      await pause(budget);
      if (!hasDocument(record)) {
        completed.push(record);
        continue;
      }
      const highlights = mergeRanges([...(record.highlights ?? []), ...words[next++]!], LIMITS.highlights);
      completed.push({
        ...record,
        highlights,
        ...(await snippet(record.document, highlights, plan, budget)),
      });
    }
    return completed;
  }

  /** Ranges of the words that have one of the terms, by record. */
  async #find(
    records: readonly Shown[],
    sought: readonly SoughtTerms[],
    budget: RequestBudget,
  ): Promise<readonly (readonly number[])[]> {
    const ranges: number[][] = records.map(() => []);
    if (sought.length === 0 || records.length === 0) return ranges;
    const texts: string[] = [];
    for (const { document } of records) {
      await pause(budget);
      texts.push(withinTextLimit(document));
    }
    const by = sourceBit("$knn");
    for (const terms of sought) {
      const search = { ...terms, texts, limit: LIMITS.highlights };
      const found = (await this.#embedder.findTerms(search, budget)) ?? [];
      for (const [i, places] of found.entries())
        for (let at = 0; at < places.length; at += 2) ranges[i]!.push(places[at]!, places[at + 1]!, by);
    }
    return ranges;
  }
}

function hasDocument(record: ResultRecord): record is Shown {
  return record.document !== undefined && record.document !== null;
}

async function snippet(
  document: DocumentText,
  ranges: Uint32Array,
  { snippet: length }: HighlightPlan,
  budget: RequestBudget,
): Promise<Pick<ResultRecord, "snippet">> {
  if (length === null) return {};
  const shown = shownRanges(ranges, length);
  const around = await textAround(document, shown.start - length, shown.end + length, budget);
  return { snippet: snippetOf(around.text, { start: around.start, shown, ranges, length }) };
}

/** At least what lies between two places, in UTF-16 units, and where that begins. A long document is decoded piece by piece. */
async function textAround(
  document: DocumentText,
  from: number,
  to: number,
  budget: RequestBudget,
): Promise<{ readonly text: string; readonly start: number }> {
  if (typeof document === "string") return { text: document, start: 0 };
  let text = "";
  let start = 0;
  for (const piece of documentPieces(document)) {
    if (start + text.length >= to) break;
    if (start + piece.length <= from) start += piece.length;
    else text += piece;
    await pause(budget);
  }
  return { text, start };
}

async function pause({ owner, signal }: RequestBudget): Promise<void> {
  await takeSlice(owner);
  throwIfAborted(signal);
}

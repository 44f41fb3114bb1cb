/** What an explained search says beside its records, as the server sends it. */
import type { KeyInput } from "../search/key.ts";
import type { ExplainJson } from "../search/search.ts";
import type { Metadata } from "./metadata.ts";
import type { SearchParams } from "./read.ts";

/** A 32-bit float; JSON has no words for those that are not finite. */
export type TraceNumber = number | "NaN" | "Infinity" | "-Infinity";

export interface MatchedTerm {
  readonly term: number;
  readonly token?: string;
  /** Its weight in the query, times its idf where the index has one, and times k + 1 where BM25 has the statistics of the collection. */
  readonly query: TraceNumber;
  /** Its weight in the record. */
  readonly record: TraceNumber;
  /** How often the record has the term, where BM25 has the statistics of the collection. */
  readonly frequency?: TraceNumber;
  /** Records that hold the term, where the index has an idf. */
  readonly documents?: number;
}

/** A node of the rank expression, with its value for one record. */
export type Trace =
  | {
      readonly op: "$sum" | "$mul" | "$max" | "$min" | "$sub" | "$div" | "$abs" | "$exp" | "$log";
      readonly value: TraceNumber;
      readonly operands: readonly Trace[];
    }
  | { readonly op: "$val"; readonly value: TraceNumber }
  | {
      readonly op: "$knn";
      readonly value: TraceNumber;
      readonly key: string;
      /** `default`: the query did not find the record. */
      readonly from: "limit" | "default";
      /** Its place among what the query found, from 0. */
      readonly rank?: number;
      readonly distance?: TraceNumber;
      readonly dot_product?: TraceNumber;
      /** Of the record, in terms; of BM25 with the statistics of the collection. */
      readonly length?: number;
      readonly terms?: readonly MatchedTerm[];
      /** What the text was embedded with, and its tokens where the model is sparse. */
      readonly model?: string;
      readonly tokens?: readonly string[];
    }
  | {
      readonly op: "$key" | "$age";
      readonly value: TraceNumber;
      readonly key: string;
      readonly from: "record" | "default";
      readonly stored?: number | bigint | boolean;
    };

interface KnnPlan {
  /** Where it stands in the search: `rank.$sum[0].$knn`. */
  readonly path: string;
  readonly key: string;
  readonly limit: number;
  readonly found: number;
  /** `false`: what it found are the nearest by estimates. */
  readonly exact: boolean;
}

export type LeafPlan =
  | (KnnPlan & {
      readonly type: "dense";
      readonly scanned: number;
      readonly scored: number;
      readonly estimated: number;
      readonly lists: number;
      readonly lists_probed: number;
      readonly rescored: number;
    })
  | (KnnPlan & {
      readonly type: "sparse";
      readonly terms: number;
      /** Of BM25 with the statistics of the collection: documents, and their mean length. */
      readonly documents?: number;
      readonly average_length?: number;
      readonly posting_blocks: number;
      readonly unpacked_tails: number;
    })
  | {
      readonly type: "key" | "age";
      readonly path: string;
      readonly key: string;
      /** Seconds since 1970, of `$age`. */
      readonly now?: number;
    };

/** How the records of a search were found. */
export interface SearchPlan {
  readonly records: number;
  /** Those that passed the filter. */
  readonly rows: number;
  readonly ranked: number | null;
  /** Those that `mmr` kept. */
  readonly diversified: number | null;
  readonly grouped: number | null;
  readonly leaves: readonly LeafPlan[];
  /** By stage. */
  readonly milliseconds: Readonly<Record<string, number>>;
}

export interface WhyNot {
  readonly id: string;
  readonly reason: "absent" | "filtered" | "outside_leaf" | "diversified_out" | "grouped_out" | "below_page";
  /** Of the clause or the leaf that kept it out. */
  readonly path?: string;
  /** Its place, from 0, before grouping. */
  readonly rank?: number;
}

/** What `explainSearch` takes beside a search. */
export interface ExplainParams<S = readonly KeyInput[], M = Metadata> extends SearchParams<S, M> {
  /** Records of which it is said why they are not among the rows. */
  readonly ids?: readonly string[] | undefined;
}

/** @typeParam R Rows of the search. */
export interface ExplainedSearch<R> {
  /** `trace` is `null` without a `rank`. */
  readonly rows: readonly (R & { readonly trace: Trace | null })[];
  readonly plan: SearchPlan;
  /** Of the records that were named and are not among the rows. */
  readonly whyNot: readonly WhyNot[];
}

export interface ExplainedReply {
  readonly traces: readonly (readonly (Trace | null)[])[];
  readonly plans: readonly SearchPlan[];
  readonly why_not?: readonly (readonly WhyNot[])[];
}

export function explainJson(ids: readonly string[] | undefined): ExplainJson {
  return ids === undefined ? true : { ids };
}

/** The first search of a reply. */
export function explainedSearch(
  rows: readonly object[],
  { traces, plans, why_not: whyNot }: ExplainedReply,
): ExplainedSearch<object> {
  const traced = rows.map((row, i) => ({ ...row, trace: traces[0]?.[i] ?? null }));
  return { rows: traced, plan: plans[0]!, whyNot: whyNot?.[0] ?? [] };
}

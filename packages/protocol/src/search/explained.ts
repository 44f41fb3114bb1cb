/** What an explained search says beside its records: how they were found, and why others are not among them. */

/** Of a `$knn` on `#embedding`: how rows were compared. One search may do so in several ways, for segments differ. */
export interface DensePlan {
  readonly type: "dense";
  /** Where the leaf stands in the payload: `rank.$sum[0].$knn`. */
  readonly path: string;
  readonly key: string;
  readonly limit: number;
  /** Records that it found. */
  readonly found: number;
  /** The neighbours are the nearest with certainty; `false`: by estimates. Their distances are exact either way. */
  readonly exact: boolean;
  /** Rows whose exact distances were computed one after the other, for they have no codes. */
  readonly scanned: number;
  /** Rows of sealed segments whose coarse scores were computed, all that passed the filter. */
  readonly scored: number;
  /** Such rows that were estimated from their codes, each that passed the filter. */
  readonly estimated: number;
  /** Lists of rows that segments have, and those of them that were looked through. */
  readonly lists: number;
  readonly listsProbed: number;
  /** Rows found by codes whose exact distance was computed then. */
  readonly rescored: number;
}

export interface SparsePlan {
  readonly type: "sparse";
  readonly path: string;
  readonly key: string;
  readonly limit: number;
  readonly found: number;
  /** Always. */
  readonly exact: true;
  /** Terms of the query. */
  readonly terms: number;
  /** Of BM25 with the statistics of the collection: documents, and their mean length. */
  readonly documents?: number;
  readonly averageLength?: number;
  /** Parts of the index that were searched by posting lists, and by going through vectors not packed yet. */
  readonly postingBlocks: number;
  readonly unpackedTails: number;
}

export interface FieldPlan {
  readonly type: "key" | "age";
  readonly path: string;
  readonly key: string;
  /** Unix time in seconds from which ages count; of `$age` only. */
  readonly now?: number;
}

export type LeafPlan = DensePlan | SparsePlan | FieldPlan;

export interface SearchPlan {
  /** Of the collection when it was searched. */
  readonly records: number;
  /** Those that passed the filter. */
  readonly rows: number;
  /** Those that the rank has a score for; without a rank `null`. */
  readonly ranked: number | null;
  /** Those that `mmr` kept; `null`: the search has none. */
  readonly diversified: number | null;
  /** Those that grouping kept, as far as the page needed to know; `null`: nothing was grouped. */
  readonly grouped: number | null;
  /** In the order in which they stand in the rank. */
  readonly leaves: readonly LeafPlan[];
  /** By stage: `filter`, `dense`, `sparse`, `rank`, `group`, `sort`, `select`. */
  readonly milliseconds: { readonly [stage: string]: number };
}

export const WHY_NOT_REASONS = [
  "absent",
  "filtered",
  "outside_leaf",
  "diversified_out",
  "grouped_out",
  "below_page",
] as const;
export type WhyNotReason = (typeof WHY_NOT_REASONS)[number];

export interface WhyNot {
  readonly id: string;
  readonly reason: WhyNotReason;
  /** The clause (`where.$and[1].year`) or leaf (`rank.$sum[0].$knn`) that kept it out. */
  readonly path?: string;
  /** Its place, from 0, among all that were ranked. */
  readonly rank?: number;
}

export interface Explained {
  readonly plan: SearchPlan;
  /** `null`: no ids were named. */
  readonly whyNot: readonly WhyNot[] | null;
}

/** The members of a reply that explain its searches; nothing where none was to be explained. */
export function writeExplained(explained: readonly (Explained | null)[] | undefined): string {
  if (explained === undefined) return "";
  const plans = explained.map((one) => one && planJson(one.plan));
  const text = `,"plans":${JSON.stringify(plans)}`;
  if (!explained.some((one) => one !== null && one.whyNot !== null)) return text;
  return `${text},"why_not":${JSON.stringify(explained.map((one) => one?.whyNot ?? null))}`;
}

function planJson({ leaves, milliseconds, ...counts }: SearchPlan): object {
  return { ...counts, leaves: leaves.map(leafJson), milliseconds };
}

function leafJson(leaf: LeafPlan): object {
  if (!("found" in leaf)) return leaf;
  const { type, path, key, limit, found, exact } = leaf;
  const common = { type, path, key, limit, found, exact };
  if ("terms" in leaf) {
    const { terms, documents, averageLength, postingBlocks, unpackedTails } = leaf;
    const statistics = documents === undefined ? {} : { documents, average_length: averageLength };
    return { ...common, terms, ...statistics, posting_blocks: postingBlocks, unpacked_tails: unpackedTails };
  }
  const { scanned, scored, estimated, lists, listsProbed, rescored } = leaf;
  return { ...common, scanned, scored, estimated, lists, lists_probed: listsProbed, rescored };
}

/**
 * A search request as a frozen tree. Parsers in this folder are the only makers; engine and server trust it.
 * Every numeric constant is already an f32 (`Math.fround`).
 */
import type { IntegerArray } from "../integer-array.ts";
import type { MetadataScalar, SparseVector } from "../metadata.ts";

export type Comparison = "$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte";

/** Of `$in` and `$nin`. Long lists of numbers are typed arrays, whose kind `metadataKind` gives. */
export type FilterValues = readonly MetadataScalar[] | IntegerArray | Float64Array;

export type Where =
  | { readonly type: "and"; readonly children: readonly Where[] }
  | { readonly type: "or"; readonly children: readonly Where[] }
  /** `$gt`, `$gte`, `$lt`, `$lte` carry numbers only. */
  | {
      readonly type: "compare";
      readonly key: string;
      readonly operator: Comparison;
      readonly value: MetadataScalar;
    }
  | {
      readonly type: "in";
      readonly key: string;
      readonly negated: boolean;
      readonly values: FilterValues;
    }
  /** Membership in an array value. */
  | {
      readonly type: "contains";
      readonly key: string;
      readonly negated: boolean;
      readonly value: MetadataScalar;
    }
  | { readonly type: "document_contains"; readonly negated: boolean; readonly text: string }
  | {
      readonly type: "document_regex";
      readonly negated: boolean;
      readonly pattern: string;
      /** Where the pattern stood in the body, for the message of an engine that refuses it. */
      readonly path?: string;
    }
  | { readonly type: "id"; readonly negated: boolean; readonly ids: readonly string[] };

/** A `$knn` query. `text` is what a caller sends; the server turns it into `dense` or `sparse` before the engine sees it. */
export type KnnQuery =
  | { readonly type: "dense"; readonly vector: Float32Array }
  | { readonly type: "sparse"; readonly vector: SparseVector }
  | { readonly type: "text"; readonly text: string };

export interface Knn {
  readonly type: "knn";
  readonly query: KnnQuery;
  /** `#embedding` or the metadata key of a sparse index. */
  readonly key: string;
  readonly limit: number;
  readonly default: number | null;
  readonly returnRank: boolean;
  /** Scan exactly, whatever index exists. */
  readonly exact: boolean;
  /** Where it stood in the body, for messages: `searches[0].rank.$sum[1].$knn`. */
  readonly path: string;
  /** The model that embedded its text, where a trace is to say so. */
  readonly model?: string;
  /** What that model read of it, where it is dense and a trace is to say so. */
  readonly tokens?: readonly string[];
}

/** A number of the record's own metadata, as a score. */
export type FieldLeaf =
  /** The number, or 0 and 1 for a boolean. */
  | { readonly type: "key"; readonly key: string; readonly default: number | null }
  /** How long before `now` it is, in half-lives; never below 0. All three are f64. */
  | {
      readonly type: "age";
      readonly key: string;
      readonly now: number;
      readonly halfLife: number;
      readonly default: number | null;
    };

export type NaryOperator = "$sum" | "$mul" | "$max" | "$min";
export type BinaryOperator = "$sub" | "$div";
export type UnaryOperator = "$abs" | "$exp" | "$log";

export type Rank =
  | { readonly type: "val"; readonly value: number }
  | Knn
  | FieldLeaf
  | { readonly type: "nary"; readonly operator: NaryOperator; readonly operands: readonly Rank[] }
  | {
      readonly type: "binary";
      readonly operator: BinaryOperator;
      readonly left: Rank;
      readonly right: Rank;
    }
  | { readonly type: "unary"; readonly operator: UnaryOperator; readonly operand: Rank };

export interface GroupBy {
  /** Metadata keys, at least one. */
  readonly keys: readonly string[];
  readonly aggregate: {
    readonly operator: "$min_k" | "$max_k";
    /** Metadata keys or `#score`, at least one. */
    readonly keys: readonly string[];
    readonly k: number;
  };
}

export interface OrderKey {
  /** A metadata key. */
  readonly key: string;
  readonly descending: boolean;
}

/** Records by their metadata: those without a value last, those that are equal in insertion order. */
export interface OrderBy {
  /** At least one, each key once. */
  readonly keys: readonly OrderKey[];
  /** Where it stood in the body, for messages. */
  readonly path: string;
}

/** Maximal marginal relevance: which of the best records are kept, so that they differ. */
export interface Mmr {
  /** From 0, nothing but difference counts, to 1, nothing but the score; f64. */
  readonly lambda: number;
  /** Records that are kept, at least 1. */
  readonly limit: number;
}

export interface Select {
  readonly document: boolean;
  readonly embedding: boolean;
  readonly metadata: boolean;
  readonly score: boolean;
  /** Single metadata fields, sorted. */
  readonly fields: readonly string[];
  /** The keys as the reply echoes them: deduplicated, `#id`, `#document`, `#embedding`, `#metadata`, `#score`, then fields. */
  readonly keys: readonly string[];
}

/** That a reply says where documents match. */
export interface HighlightRequest {
  /** Longest snippet of each document in UTF-16 units; `null`: none is asked for. */
  readonly snippet: number | null;
}

/** That a search is to be explained. */
export interface Explain {
  /** Records of which it is said why they are not on the page; `null`: none were asked for. Each once. */
  readonly ids: readonly string[] | null;
  /** Where it stood in the body, for messages. */
  readonly path: string;
}

export interface Search {
  readonly where: Where | null;
  readonly rank: Rank | null;
  /** Only where there is a rank. */
  readonly mmr?: Mmr;
  readonly groupBy: GroupBy | null;
  /** Left out, and always where there is a rank: insertion order. */
  readonly orderBy?: OrderBy;
  readonly offset: number;
  /** `null`: no cap of its own. */
  readonly limit: number | null;
  readonly select: Select;
  /** Left out: not asked for. */
  readonly highlight?: HighlightRequest;
  readonly explain?: Explain;
}

export type ReadLevel = "index_and_wal" | "index_only" | "index_and_bounded_wal";

export interface SearchRequest {
  readonly searches: readonly Search[];
  readonly readLevel: ReadLevel;
}

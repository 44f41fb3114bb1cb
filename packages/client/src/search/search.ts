/** A search put together step by step, to the same JSON as in Chroma's clients. */
import type { HighlightInput } from "../records/highlight.ts";
import { GroupBy, type GroupByInput, type GroupByJson } from "./group-by.ts";
import type { KeyInput, KeyName } from "./key.ts";
import { Limit, type LimitInput, type LimitJson } from "./limit.ts";
import { RankExpression, type RankInput, type RankJson } from "./rank.ts";
import { Select, type SelectInput, type SelectJson } from "./select.ts";
import { WhereExpression, type WhereInput, type WhereJson } from "./where.ts";

/** `ids`: of records of which it is to be said why they are not among the answers. */
export type ExplainJson = boolean | { readonly ids: readonly string[] };

/** Maximal marginal relevance: which of the best records are kept, so that they differ. Needs a `rank`. */
export interface Mmr {
  /** From 0, the least alike, to 1, the best scores; 0.5 if omitted. */
  readonly lambda?: number | undefined;
  /** Records that are kept, 1,000 at most. */
  readonly limit: number;
}

/** Fields of the metadata, the first one first: `[{ price: "desc" }, { year: "asc" }]`. */
export type OrderByJson = readonly Readonly<Record<string, "asc" | "desc">>[];

export interface SearchInit {
  readonly where?: WhereInput;
  readonly rank?: RankInput | null | undefined;
  readonly groupBy?: GroupByInput | null | undefined;
  readonly limit?: LimitInput;
  readonly select?: SelectInput;
  readonly orderBy?: OrderByJson | undefined;
  readonly mmr?: Mmr | undefined;
  readonly highlight?: HighlightInput | undefined;
  readonly explain?: ExplainJson | undefined;
}

export interface SearchPayload {
  readonly limit: LimitJson;
  readonly select: SelectJson;
  readonly filter?: WhereJson;
  readonly rank?: RankJson;
  readonly group_by?: GroupByJson;
  readonly order_by?: OrderByJson;
  readonly mmr?: Mmr;
  readonly highlight?: HighlightInput;
  readonly explain?: ExplainJson;
}

interface Parts {
  readonly where: WhereExpression | undefined;
  readonly rank: RankExpression | undefined;
  readonly groupBy: GroupBy | undefined;
  readonly limit: Limit;
  readonly select: Select;
  readonly orderBy: OrderByJson | undefined;
  readonly mmr: Mmr | undefined;
  readonly highlight: HighlightInput | undefined;
  readonly explain: ExplainJson | undefined;
}

/**
 * Every method gives a new search and leaves this one as it is. Without `select` only ids are answered.
 *
 * @typeParam N Keys that are selected; they give the rows of the answer their type.
 * @typeParam H How documents are highlighted; so does it.
 * @example
 * new Search().where(K("year").gte(1990)).rank(Knn({ query: "boats" })).limit(5).select("#document", "#score")
 */
export class Search<N extends string = never, H extends HighlightInput | undefined = undefined> {
  readonly #parts: Parts;
  /** Only for the compiler. */
  declare readonly selected?: N;
  declare readonly highlighted?: H;

  constructor(init: SearchInit = {}) {
    this.#parts = {
      where: WhereExpression.from(init.where),
      rank: RankExpression.from(init.rank),
      groupBy: GroupBy.from(init.groupBy),
      limit: Limit.from(init.limit),
      select: Select.from(init.select),
      orderBy: init.orderBy,
      mmr: init.mmr,
      highlight: init.highlight,
      explain: init.explain,
    };
  }

  where(where?: WhereInput): Search<N, H> {
    return this.#with({ where: WhereExpression.from(where) ?? this.#parts.where });
  }

  rank(rank?: RankInput | null): Search<N, H> {
    return this.#with({ rank: RankExpression.from(rank) ?? this.#parts.rank });
  }

  groupBy(groupBy?: GroupByInput | null): Search<N, H> {
    return this.#with({ groupBy: GroupBy.from(groupBy) ?? this.#parts.groupBy });
  }

  limit(limit?: LimitInput, offset?: number): Search<N, H> {
    return this.#with({ limit: Limit.from(limit, offset) });
  }

  select<const T extends readonly KeyInput[]>(...keys: T): Search<KeyName<T[number]>, H>;
  select<const T extends readonly KeyInput[]>(keys: T): Search<KeyName<T[number]>, H>;
  select(keys?: SelectInput): Search<string, H>;
  select(first?: SelectInput | KeyInput, ...rest: readonly KeyInput[]): Search<string, H> {
    const isList = first === undefined || first === null || (typeof first === "object" && !("name" in first));
    const select = isList ? Select.from(first) : new Select([first, ...rest]);
    return this.#with<string>({ select });
  }

  selectAll(): Search<"#document" | "#embedding" | "#metadata" | "#score", H> {
    return this.#with({ select: Select.all() });
  }

  /** By fields of the metadata instead of a rank. */
  orderBy(orderBy: OrderByJson): Search<N, H> {
    return this.#with({ orderBy });
  }

  /** Keeps some of the ranking that differ from each other. */
  mmr(mmr: Mmr): Search<N, H> {
    return this.#with({ mmr });
  }

  /** Says where each document matches: `true`, or the longest length of a snippet. */
  highlight<const T extends HighlightInput = true>(highlight?: T): Search<N, T> {
    return this.#with<N, T>({ highlight: highlight ?? true });
  }

  /** For `explainSearch`, and for requests made of `toPayload()`. `search` and `searchAll` answer rows only. */
  explain(explain: ExplainJson = true): Search<N, H> {
    return this.#with({ explain });
  }

  get whereClause(): WhereExpression | undefined {
    return this.#parts.where;
  }

  get rankExpression(): RankExpression | undefined {
    return this.#parts.rank;
  }

  get groupByConfig(): GroupBy | undefined {
    return this.#parts.groupBy;
  }

  get limitConfig(): Limit {
    return this.#parts.limit;
  }

  get selectConfig(): Select {
    return this.#parts.select;
  }

  get orderByConfig(): OrderByJson | undefined {
    return this.#parts.orderBy;
  }

  get mmrConfig(): Mmr | undefined {
    return this.#parts.mmr;
  }

  get highlightConfig(): HighlightInput | undefined {
    return this.#parts.highlight;
  }

  get explainConfig(): ExplainJson | undefined {
    return this.#parts.explain;
  }

  toPayload(): SearchPayload {
    const { where, rank, groupBy, orderBy, limit, select, mmr, highlight, explain } = this.#parts;
    return {
      limit: limit.toJSON(),
      select: select.toJSON(),
      ...(where === undefined ? {} : { filter: where.toJSON() }),
      ...(rank === undefined ? {} : { rank: rank.toJSON() }),
      ...(groupBy === undefined ? {} : { group_by: groupBy.toJSON() }),
      ...(orderBy === undefined ? {} : { order_by: orderBy }),
      ...(mmr === undefined ? {} : { mmr }),
      ...(highlight === undefined ? {} : { highlight }),
      ...(explain === undefined ? {} : { explain }),
    };
  }

  #with<T extends string = N, U extends HighlightInput | undefined = H>(
    change: Partial<Parts>,
  ): Search<T, U> {
    return new Search<T, U>({ ...this.#parts, ...change });
  }
}

/** A search that selects and highlights whatever it may. */
export type AnySearch = Search<string, HighlightInput | undefined>;

export type SearchLike = AnySearch | SearchInit;

/** A search out of its parts, unless it is one. */
export function toSearch(input: SearchLike): AnySearch {
  return input instanceof Search ? input : new Search<string>(input);
}

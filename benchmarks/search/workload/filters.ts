/** The filters that are measured: as the servers read them, and as the predicate that the ground truth goes by. */
import { FIRST_YEAR, KINDS, type RecordContent, WORDS, YEARS } from "./record-content.ts";

export interface QueryFilter {
  /** The part of a query's body that says it. */
  readonly body: object;
  readonly keeps: (record: RecordContent) => boolean;
}

/** The filter of the query at this position, whose vector is of this group. */
export type FilterOf = (query: number, group: number) => QueryFilter;

const FROM_YEAR = FIRST_YEAR + YEARS / 2;
const HALF: QueryFilter = {
  body: { where: { year: { $gte: FROM_YEAR } } },
  keeps: ({ metadata }) => metadata.year >= FROM_YEAR,
};
const TWENTIETH: QueryFilter = {
  body: { where: { category: "c7" } },
  keeps: ({ metadata }) => metadata.category === "c7",
};
const THOUSANDTH: QueryFilter = {
  body: { where: { $and: [{ price: { $gte: 500 } }, { price: { $lt: 501 } }] } },
  keeps: ({ metadata }) => metadata.price >= 500 && metadata.price < 501,
};
const EVERYTHING: QueryFilter = { body: {}, keeps: () => true };

/** 5 % of the rows, in whole groups, none of them the query's own: its near neighbours all drop out. */
const adversarial: FilterOf = (_, group) => {
  const shelf = `s${(group + KINDS / 2) % KINDS}`;
  return { body: { where: { shelf } }, keeps: ({ metadata }) => metadata.shelf === shelf };
};

/** Words that about one document in a hundred contains; one word in ten queries is the same. */
const wordOf = (query: number): string => WORDS[200 + (query % 10)] ?? "";

const substring: FilterOf = (query) => {
  const text = ` ${wordOf(query)} `;
  return { body: { where_document: { $contains: text } }, keeps: ({ document }) => document.includes(text) };
};

const regex: FilterOf = (query) => {
  const pattern = `\\b${wordOf(query)} [a-m]\\w+`;
  return regexFilter(pattern, new RegExp(pattern));
};

/** Alternatives between two words, then anything up to a letter. */
const alternatives: FilterOf = (query) => {
  const pattern = `${WORDS[query % 10]} (${WORDS[10 + (query % 10)]}|${WORDS[20 + (query % 10)]}) [a-z]*[aeiou] `;
  return regexFilter(pattern, new RegExp(pattern));
};

/** The same in capitals, where the documents have none. */
const caseless: FilterOf = (query) => {
  const words = [WORDS[query % 10], WORDS[10 + (query % 10)], WORDS[20 + (query % 10)]];
  const [first, second, third] = words.map((word) => (word ?? "").toUpperCase());
  const pattern = `${first} (${second}|${third}) [a-z]*[aeiou] `;
  return regexFilter(`(?i)${pattern}`, new RegExp(pattern, "i"));
};

function regexFilter(pattern: string, expression: RegExp): QueryFilter {
  return {
    body: { where_document: { $regex: pattern } },
    keeps: ({ document }) => expression.test(document),
  };
}

export const FILTERS = {
  all: () => EVERYTHING,
  half: () => HALF,
  f5: () => TWENTIETH,
  f01: () => THOUSANDTH,
  adversarial,
  substring,
  regex,
  alternatives,
  caseless,
} as const satisfies Record<string, FilterOf>;

export type FilterName = keyof typeof FILTERS;
export const FILTER_NAMES = Object.keys(FILTERS) as readonly FilterName[];

/** The search request and its reply. */
import { LIMITS, WHY_NOT_REASONS } from "@sheaf/protocol";
import { type JsonSchema, Type } from "../json-schema.ts";
import { arrayOf, closed, count, maybe, orNull, ref, words } from "../schema-parts.ts";
import { READ_LEVELS } from "./record-schemas.ts";

const rank = ref("Rank");
const field = Type.String({ pattern: "^[^#]", description: "A metadata field." });
const scoreOrField = Type.String({
  pattern: "^(?:#score$|[^#])",
  description: "A metadata field or `#score`.",
});

const knn = closed({
  query: Type.Union([Type.String(), ref("DenseVector"), ref("SparseVector")], {
    description: "A text is embedded with the model of the key.",
  }),
  key: maybe(
    Type.String({ pattern: "^(?:#embedding$|[^#])" }),
    "`#embedding` (the default) or a key with a sparse index.",
  ),
  limit: maybe(
    Type.Integer({ minimum: 1, maximum: LIMITS.knnLimit }),
    "Neighbours taken after the filter, 16 by default.",
  ),
  default: maybe(
    Type.Number(),
    "Score of a record that this `$knn` has not found; without one such a record is left out.",
  ),
  return_rank: maybe(Type.Boolean(), "Score by position (0, 1, 2, …) and not by distance."),
  exact: maybe(Type.Boolean(), "Scan without approximation."),
});

const fieldMembers = {
  key: field,
  default: maybe(Type.Number(), "Score of a record that has no number there, if others let it in."),
};
const age = closed({
  ...fieldMembers,
  half_life: Type.Number({ exclusiveMinimum: 0, description: "Seconds that count as 1." }),
  now: maybe(Type.Number(), "Unix time in seconds, by default that of the call."),
});

const operands = arrayOf(rank, { minItems: 2 });
const sides = Type.Union([
  closed({ left: rank, right: rank }),
  arrayOf(rank, { minItems: 2, maxItems: 2, description: "The same as a list of left and right." }),
]);

const aggregate = closed({
  keys: arrayOf(scoreOrField, { minItems: 1, maxItems: LIMITS.aggregateKeys }),
  k: Type.Integer({ minimum: 1, maximum: LIMITS.knnLimit }),
});

const mmr = closed({
  lambda: maybe(
    Type.Number({ minimum: 0, maximum: 1 }),
    "From 0, the least alike, to 1, the best scores; 0.5 by default.",
  ),
  limit: Type.Integer({ minimum: 1, maximum: LIMITS.mmrPool, description: "Records that are kept." }),
});
const traceNumber = Type.Union([Type.Number(), words(["NaN", "Infinity", "-Infinity"])]);
const traced = (members: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  closed({ value: traceNumber, ...members });
const tracedField = {
  key: Type.String(),
  from: words(["record", "default"]),
  stored: Type.Optional(Type.Union([Type.Number(), Type.Boolean()])),
};
const leafPlan = { path: Type.String(), key: Type.String() };
const knnPlan = { ...leafPlan, limit: Type.Integer(), found: Type.Integer(), exact: Type.Boolean() };

const filter = Type.Union([ref("Where"), closed({}), Type.Null()]);

export const SEARCH_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Rank: Type.Union(
    [
      closed({ $val: Type.Number() }, { description: "A constant." }),
      closed({ $knn: knn }, { description: "Nearest neighbours." }),
      closed({ $key: closed(fieldMembers) }, { description: "A number of the record's metadata." }),
      closed({ $age: age }, { description: "How long ago a time in the record's metadata is." }),
      ...["$sum", "$mul", "$max", "$min"].map((operator) => closed({ [operator]: operands })),
      ...["$sub", "$div"].map((operator) => closed({ [operator]: sides })),
      ...["$abs", "$exp", "$log"].map((operator) => closed({ [operator]: rank })),
    ],
    {
      description:
        `A score in 32-bit arithmetic, lower is better: exactly one operator per object, at most ${LIMITS.rankNodes} of them ` +
        `and ${LIMITS.knnLeaves} \`$knn\` expressions, and ${LIMITS.fieldLeaves} of \`$key\` and \`$age\`.`,
    },
  ),
  GroupBy: Type.Union(
    [
      closed({
        keys: arrayOf(field, { minItems: 1, maxItems: LIMITS.groupKeys }),
        aggregate: Type.Union([closed({ $min_k: aggregate }), closed({ $max_k: aggregate })]),
      }),
      closed({
        keys: Type.Optional(Type.Union([Type.Null(), arrayOf(field, { maxItems: 0 })])),
        aggregate: Type.Optional(Type.Null()),
      }),
    ],
    {
      description:
        "Groups of equal `keys`, of each the `k` best. Needs a `rank`. `{}`, and no `keys` without an `aggregate`, group nothing.",
    },
  ),
  Search: closed({
    where: Type.Optional(filter),
    filter: Type.Optional(
      Type.Union([ref("Where"), closed({}), Type.Null()], { description: "Another name of `where`." }),
    ),
    rank: maybe(rank, "Without one, records come in the order of `order_by`, or in insertion order."),
    mmr: maybe(mmr, "Of the best records those that differ. Needs a `rank`."),
    group_by: maybe(ref("GroupBy")),
    order_by: maybe(ref("OrderBy"), "Only without a `rank`."),
    highlight: maybe(ref("HighlightRequest")),
    limit: maybe(
      closed({
        limit: maybe(count(undefined, LIMITS.resultsPerPage), "0 and nothing: as many as a page holds."),
        offset: maybe(count()),
      }),
    ),
    select: maybe(
      closed({
        keys: maybe(
          arrayOf(Type.String({ pattern: "^(?:#(?:id|document|embedding|metadata|score)$|[^#])" }), {
            maxItems: LIMITS.selectKeys,
          }),
          "`#document`, `#embedding`, `#metadata`, `#score`, `#id` or metadata fields.",
        ),
      }),
    ),
    explain: maybe(
      Type.Union([
        Type.Boolean(),
        closed({ ids: arrayOf(Type.String(), { maxItems: LIMITS.explainedIds }) }),
      ]),
      "Adds `traces` and `plans` to the reply; with `ids`, `why_not` as well.",
    ),
  }),
  SearchBody: Type.Object(
    {
      searches: arrayOf(ref("Search"), { maxItems: LIMITS.searchesPerCall }),
      read_level: Type.Optional(words(READ_LEVELS, "Every level sees every acknowledged write.")),
    },
    {
      examples: [
        {
          searches: [
            {
              where: { year: { $gte: 2000 } },
              rank: { $knn: { query: "boats leaving port", limit: 50 } },
              limit: { limit: 5 },
              select: { keys: ["#document", "#score"] },
            },
          ],
        },
      ],
    },
  ),
  Trace: Type.Union(
    [
      traced({ op: words(["$val"]) }),
      traced({
        op: words(["$knn"]),
        key: Type.String(),
        from: words(["limit", "default"]),
        rank: Type.Optional(count(undefined)),
        distance: Type.Optional(traceNumber),
        dot_product: Type.Optional(traceNumber),
        length: Type.Optional(count(undefined)),
        terms: Type.Optional(
          arrayOf(
            closed({
              term: Type.Integer(),
              token: Type.Optional(Type.String()),
              query: traceNumber,
              record: traceNumber,
              frequency: Type.Optional(traceNumber),
              documents: Type.Optional(count(undefined)),
            }),
          ),
        ),
        model: Type.Optional(Type.String()),
        tokens: Type.Optional(arrayOf(Type.String())),
      }),
      traced({ op: words(["$key", "$age"]), ...tracedField }),
      traced({
        op: words(["$sum", "$mul", "$max", "$min", "$sub", "$div", "$abs", "$exp", "$log"]),
        operands: arrayOf(ref("Trace"), { minItems: 1 }),
      }),
    ],
    {
      description:
        "How a score came about: the rank expression with a value at every node, in 32-bit arithmetic.",
    },
  ),
  SearchPlan: closed(
    {
      records: count(undefined),
      rows: count(undefined),
      ranked: orNull(count(undefined)),
      diversified: orNull(count(undefined)),
      grouped: orNull(count(undefined)),
      leaves: arrayOf(
        Type.Union([
          closed({
            ...{ type: words(["dense"]), ...knnPlan },
            ...{ scanned: count(undefined), scored: count(undefined), estimated: count(undefined) },
            ...{ lists: count(undefined), lists_probed: count(undefined), rescored: count(undefined) },
          }),
          closed({
            ...{ type: words(["sparse"]), ...knnPlan, terms: count(undefined) },
            ...{ documents: Type.Optional(count(undefined)), average_length: Type.Optional(Type.Number()) },
            ...{ posting_blocks: count(undefined), unpacked_tails: count(undefined) },
          }),
          closed({ type: words(["key", "age"]), ...leafPlan, now: Type.Optional(Type.Number()) }),
        ]),
      ),
      milliseconds: Type.Record(".*", Type.Number()),
    },
    { description: "How the records of a search were found." },
  ),
  WhyNot: closed(
    {
      id: Type.String(),
      reason: words(WHY_NOT_REASONS),
      path: Type.Optional(Type.String({ description: "Of the clause or leaf that kept it out." })),
      rank: Type.Optional(Type.Integer({ description: "Its place, from 0, before grouping." })),
    },
    { description: "Why a record that was named is not on the page." },
  ),
  SearchCheck: Type.Object({
    problems: arrayOf(ref("Finding"), { description: "What a search would be refused for." }),
    warnings: arrayOf(ref("Finding"), { description: "What would most likely not do what it was meant to." }),
    plans: arrayOf(orNull(ref("CheckedSearch")), {
      description: "What each search would do; `null` for one with problems.",
    }),
  }),
  Finding: Type.Object({
    path: Type.String({ description: "The place in the body." }),
    code: Type.String(),
    message: Type.String({ description: "Of a problem that with which the search would be refused." }),
  }),
  CheckedSearch: Type.Object({
    leaves: arrayOf(
      Type.Object({
        path: Type.String(),
        key: Type.String(),
        kind: words(["dense", "sparse"]),
        limit: count(),
        indexed: Type.Boolean(),
        model: orNull(Type.String(), "Would embed the text; `null` for a vector."),
      }),
    ),
    page: Type.Object({ offset: count(), limit: orNull(count()) }),
  }),
  SearchResult: Type.Object(
    {
      ids: arrayOf(arrayOf(Type.String())),
      documents: arrayOf(orNull(arrayOf(orNull(Type.String())))),
      embeddings: arrayOf(orNull(arrayOf(orNull(arrayOf(Type.Number()))))),
      metadatas: arrayOf(orNull(arrayOf(orNull(ref("Metadata"))))),
      scores: arrayOf(
        orNull(arrayOf(orNull(Type.Number(), "`null` stands for a score that is not finite."))),
      ),
      highlights: Type.Optional(arrayOf(orNull(arrayOf(orNull(arrayOf(ref("Highlight"))))))),
      snippets: Type.Optional(arrayOf(orNull(arrayOf(orNull(ref("Snippet")))))),
      select: arrayOf(arrayOf(Type.String())),
      traces: Type.Optional(
        arrayOf(orNull(arrayOf(orNull(ref("Trace")))), {
          description: "Parallel to `ids`; only where a search asked for it with `explain`.",
        }),
      ),
      plans: Type.Optional(arrayOf(orNull(ref("SearchPlan")))),
      why_not: Type.Optional(arrayOf(orNull(arrayOf(ref("WhyNot"))))),
    },
    { description: "Columns with one row per search; `null` where the search did not ask for the column." },
  ),
};

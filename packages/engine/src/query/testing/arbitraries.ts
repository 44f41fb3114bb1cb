/**
 * Random records and search dictionaries over a vocabulary so small that filters match, scores tie, groups have
 * members and leaves overlap.
 */
import {
  type Bm25Parameters,
  type FieldLeaf,
  type GroupBy,
  type IndexPlan,
  type Knn,
  type Metadata,
  type MetadataScalar,
  type MetadataValue,
  type Mmr,
  type OrderBy,
  type OrderKey,
  type Rank,
  type Search,
  type Select,
  type SparseVector,
  type Where,
  integerArray,
} from "@sheaf/protocol";
import * as fc from "fast-check";
import type { RecordContent } from "./test-collection.ts";

const IDS = Array.from({ length: 24 }, (_, i) => `r${i}`);
const KEYS = ["i", "n", "s", "b", "list", "idf", "plain", "terms", "absent"];

/** By way of f64 it would become another f32. */
const TWICE_ROUNDED = 2n ** 60n + 2n ** 36n + 1n;

const ints = fc.constantFrom(0n, 1n, 2n, -3n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 63n), TWICE_ROUNDED);
const floats = fc.constantFrom(0, -0, 1, 1.5, 2, -3, 2 ** 53, -(2 ** 63), 1e300, 5e-324);
/** Grouping compares the first 64 characters before the others, and tells groups of over 256 by a digest. */
const LONG = ["w".repeat(64), `${"w".repeat(64)}a`, "w".repeat(300), `${"w".repeat(300)}a`];
const strings = fc.constantFrom(...LONG, "", "a", "b", "ab", "é", "\u{10400}", "\uffee", "1", "true");
const scalars: fc.Arbitrary<MetadataScalar> = fc.oneof(ints, floats, strings, fc.boolean());
const documents = fc.constantFrom(
  ...[
    "",
    "a fox",
    "two foxes",
    "a\nfox 12",
    "FOX",
    "1234",
    "f.x",
    "Two Oxen",
    "fast river 17 ",
    "faſt engine 7 ",
  ],
  ...["10 \u212a", "ΟΔΟΣ", "οδος", "straße"],
);

const terms = fc.uniqueArray(fc.constantFrom(0, 1, 2, 7, 4_294_967_295), { maxLength: 4 });
const weights = fc.oneof(fc.constantFrom(0, 1, -1, 0.5, 3), fc.float({ noNaN: true, min: -8, max: 8 }));

const sparseVectors: fc.Arbitrary<SparseVector> = terms.chain((indices) =>
  fc
    .record({ values: fc.array(weights, { minLength: 4, maxLength: 4 }), tokens: fc.boolean() })
    .map(({ values, tokens }) => {
      const sorted = Uint32Array.from(indices).sort();
      const vector = { indices: sorted, values: Float32Array.from(values.slice(0, sorted.length)) };
      return tokens ? { ...vector, tokens: Array.from(sorted, String) } : vector;
    }),
);

/** As a text has them: whole numbers, a few of them large. */
const frequencies: fc.Arbitrary<SparseVector> = fc
  .tuple(
    sparseVectors,
    fc.array(fc.oneof(fc.constantFrom(1, 1, 2, 3, 40), fc.nat(20_000_000)), { minLength: 9, maxLength: 9 }),
  )
  .map(([vector, counts]) => ({ ...vector, values: vector.values.map((_, i) => counts[i % 9]!) }));

const lists: fc.Arbitrary<MetadataValue> = fc.oneof(
  fc
    .array(fc.oneof(ints, fc.constantFrom(1n, 2n, 300n, 70_000n)), { minLength: 1, maxLength: 3 })
    .map(integerArray),
  fc.array(floats, { minLength: 1, maxLength: 3 }).map((list) => Float64Array.from(list)),
  fc.array(strings, { maxLength: 3 }),
  fc.array(fc.boolean(), { maxLength: 3 }),
);

const metadata: fc.Arbitrary<Metadata | null> = fc.option(
  fc
    .record(
      {
        i: ints,
        n: fc.oneof(ints, floats),
        s: strings,
        b: fc.oneof(fc.boolean(), strings),
        list: fc.oneof(lists, scalars),
        idf: fc.oneof({ weight: 6, arbitrary: sparseVectors }, { weight: 1, arbitrary: scalars }),
        plain: sparseVectors,
        terms: fc.oneof({ weight: 6, arbitrary: frequencies }, { weight: 2, arbitrary: sparseVectors }),
      },
      { requiredKeys: [] },
    )
    .map((object) => {
      const entries = Object.entries(object);
      return entries.length === 0 ? null : new Map<string, MetadataValue>(entries);
    }),
  { freq: 8 },
);

const parameters: fc.Arbitrary<Bm25Parameters> = fc.record({
  k: fc.constantFrom(1.2, 0, 0.9, 1_000),
  b: fc.constantFrom(0.75, 0, 0.4, 1),
});

export const plans: fc.Arbitrary<IndexPlan> = fc
  .record({ space: fc.constantFrom("l2", "cosine", "ip"), statistics: parameters })
  .map(({ space, statistics }) => ({
    space,
    embeddingFunction: null,
    sparse: [
      { key: "idf", bm25: true, sourceKey: null, embeddingFunction: null },
      { key: "plain", bm25: false, sourceKey: null, embeddingFunction: null },
      { key: "terms", bm25: true, sourceKey: null, embeddingFunction: null, statistics },
    ],
  }));

/** Coordinates that make equal distances likely, and some that overflow f32. */
export function vectors(dimension: number): fc.Arbitrary<Float32Array> {
  const coordinates = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(-1, 0, 1, 2) },
    { weight: 4, arbitrary: fc.float({ noNaN: true, min: -2, max: 2 }) },
    { weight: 1, arbitrary: fc.constantFrom(Math.fround(3e38), Math.fround(-3e38), -0, 2 ** -149) },
  );
  return fc
    .array(coordinates, { minLength: dimension, maxLength: dimension })
    .map((values) => Float32Array.from(values));
}

export function contents(dimension: number): fc.Arbitrary<RecordContent> {
  return fc.record({
    embedding: vectors(dimension),
    document: fc.option(documents),
    uri: fc.option(strings),
    metadata,
  });
}

export type Write =
  | { readonly type: "put"; readonly id: string; readonly content: RecordContent }
  | { readonly type: "remove"; readonly id: string };

export function applyWrites(
  collection: { put(id: string, content: RecordContent): void; remove(id: string): void },
  list: readonly Write[],
): void {
  for (const write of list) {
    if (write.type === "put") collection.put(write.id, write.content);
    else collection.remove(write.id);
  }
}

/** Mostly inserts, with updates and deletes of ids that may or may not exist. */
export function writes(dimension: number): fc.Arbitrary<Write[]> {
  const ids = fc.constantFrom(...IDS);
  const put = fc.record({ type: fc.constant("put" as const), id: ids, content: contents(dimension) });
  const remove = fc.record({ type: fc.constant("remove" as const), id: ids });
  return fc.array(fc.oneof({ weight: 6, arbitrary: put }, { weight: 1, arbitrary: remove }), {
    maxLength: 40,
  });
}

const keys = fc.constantFrom(...KEYS);

/** Those that the oracle's engine knows too. */
const PATTERNS = [
  ...[
    "fox",
    "^a",
    "fox$",
    "[0-9]{2,3}",
    "f.x",
    "(es|12)$",
    "^$",
    "(?:FOX|two)",
    "(?i)fox",
    "(?i)(two|a) fox",
  ],
  ...[
    "fast (river|engine) [0-9]*7 ",
    "(?i)FAST (RIVER|ENGINE) [0-9]*7 ",
    "(?i)10 k",
    "(?i)οδοσ",
    "(?:two )?(?:foxes|)$",
  ],
  ...["[FO]{2}X", "(?:fo{1}x){1,2}", "f(?:o|i|u)x|[1-4]{4}", "(?i)stra(?:ß|ss)e", "(?:1|12|)34", "o[dx]"],
];

const leafClauses: fc.Arbitrary<Where> = fc.oneof(
  fc.record({
    type: fc.constant("compare" as const),
    key: keys,
    operator: fc.constantFrom("$eq", "$ne"),
    value: scalars,
  }),
  fc.record({
    type: fc.constant("compare" as const),
    key: keys,
    operator: fc.constantFrom("$gt", "$gte", "$lt", "$lte"),
    value: fc.oneof(ints, floats),
  }),
  fc.record({
    type: fc.constant("in" as const),
    key: keys,
    negated: fc.boolean(),
    values: fc.oneof(
      fc.array(ints, { minLength: 1, maxLength: 3 }),
      fc.array(fc.oneof(ints, floats), { minLength: 1, maxLength: 3 }),
      fc.array(strings, { minLength: 1, maxLength: 3 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
    ),
  }),
  fc.record({ type: fc.constant("contains" as const), key: keys, negated: fc.boolean(), value: scalars }),
  fc.record({
    type: fc.constant("document_contains" as const),
    negated: fc.boolean(),
    text: fc.constantFrom("", "fox", "FOX", ".", "\n", "zebra"),
  }),
  fc.record({
    type: fc.constant("document_regex" as const),
    negated: fc.boolean(),
    pattern: fc.constantFrom(...PATTERNS),
  }),
  fc.record({
    type: fc.constant("id" as const),
    negated: fc.boolean(),
    ids: fc.array(fc.constantFrom(...IDS, "unknown"), { minLength: 1, maxLength: 12 }),
  }),
);

const { clause: clauses } = fc.letrec<{ clause: Where }>((tie) => ({
  clause: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 3, arbitrary: leafClauses },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constantFrom("and", "or"),
        children: fc.array(tie("clause"), { maxLength: 3 }),
      }),
    },
  ),
}));

export const wheres: fc.Arbitrary<Where | null> = fc.option(clauses, { freq: 3 });

const defaults = fc.option(fc.oneof(fc.constantFrom(0, 1, -1), fc.float({ noNaN: true, min: -9, max: 9 })));

type Target = Pick<Knn, "key" | "query">;

function knnsOf(targets: fc.Arbitrary<Target>): fc.Arbitrary<Knn> {
  return fc
    .record({
      target: targets,
      limit: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.constant(100)),
      default: defaults,
      returnRank: fc.boolean(),
      exact: fc.boolean(),
    })
    .map(({ target, ...rest }) => ({ type: "knn", path: "searches[0].rank", ...target, ...rest }));
}

function denseTargets(dimension: number): fc.Arbitrary<Target> {
  return vectors(dimension).map((vector) => ({ key: "#embedding", query: { type: "dense", vector } }));
}

export function denseKnns(dimension: number): fc.Arbitrary<Knn> {
  return knnsOf(denseTargets(dimension));
}

export function knns(dimension: number): fc.Arbitrary<Knn> {
  const sparse: fc.Arbitrary<Target> = fc
    .tuple(fc.constantFrom("idf", "plain", "terms"), sparseVectors)
    .map(([key, vector]) => ({ key, query: { type: "sparse", vector } }));
  return knnsOf(fc.oneof(denseTargets(dimension), sparse));
}

const fields: fc.Arbitrary<FieldLeaf> = fc.oneof(
  fc.record({ type: fc.constant("key" as const), key: keys, default: defaults }),
  fc.record({
    ...{ type: fc.constant("age" as const), key: keys, default: defaults },
    now: fc.constantFrom(0, 2, 2 ** 53, -1e300),
    halfLife: fc.constantFrom(1, 0.3, 86_400, 1e-300),
  }),
);

export function ranks(dimension: number): fc.Arbitrary<Rank> {
  const { rank } = fc.letrec<{ rank: Rank }>((tie) => ({
    rank: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      { weight: 4, arbitrary: knns(dimension) },
      { weight: 2, arbitrary: fields },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant("val" as const),
          value: fc.oneof(fc.constantFrom(0, 1, -1, 60), fc.float({ noNaN: true })),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          type: fc.constant("nary" as const),
          operator: fc.constantFrom("$sum", "$mul", "$max", "$min"),
          operands: fc.array(tie("rank"), { minLength: 2, maxLength: 3 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          type: fc.constant("binary" as const),
          operator: fc.constantFrom("$sub", "$div"),
          left: tie("rank"),
          right: tie("rank"),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          type: fc.constant("unary" as const),
          operator: fc.constantFrom("$abs", "$exp", "$log"),
          operand: tie("rank"),
        }),
      },
    ),
  }));
  return rank;
}

const groupBys: fc.Arbitrary<GroupBy> = fc.record({
  keys: fc.array(keys, { minLength: 1, maxLength: 2 }),
  aggregate: fc.record({
    operator: fc.constantFrom("$min_k", "$max_k"),
    keys: fc.array(fc.constantFrom(...KEYS, "#score"), { minLength: 1, maxLength: 2 }),
    k: fc.integer({ min: 1, max: 3 }),
  }),
});

const mmrs: fc.Arbitrary<Mmr> = fc.record({
  lambda: fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ noNaN: true, min: 0, max: 1 })),
  limit: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.constant(1_000)),
});

const selects: fc.Arbitrary<Select> = fc.record({
  document: fc.boolean(),
  embedding: fc.boolean(),
  metadata: fc.boolean(),
  score: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  fields: fc.uniqueArray(keys, { maxLength: 3 }),
  keys: fc.constant([]),
});

const orderKeys: fc.Arbitrary<OrderKey> = fc.record({ key: keys, descending: fc.boolean() });
export const orders: fc.Arbitrary<OrderBy> = fc
  .uniqueArray(orderKeys, { minLength: 1, maxLength: 3, selector: ({ key }) => key })
  .map((list) => ({ keys: list, path: "order_by" }));

export function searches(dimension: number): fc.Arbitrary<Search> {
  return fc
    .record({
      where: wheres,
      rank: fc.option(ranks(dimension), { freq: 8 }),
      groupBy: fc.option(groupBys, { freq: 2 }),
      offset: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) }),
      limit: fc.option(fc.integer({ min: 1, max: 12 }), { freq: 2 }),
      select: selects,
      orderBy: orders,
      isOrdered: fc.boolean(),
      mmr: fc.option(mmrs, { freq: 2, nil: undefined }),
    })
    .map(({ orderBy, isOrdered, mmr, ...search }) => {
      if (search.rank !== null) return { ...search, ...(mmr && { mmr }) };
      return { ...search, groupBy: null, ...(isOrdered && { orderBy }) };
    });
}

export function severalSearches(dimension: number, count: number): fc.Arbitrary<Search[]> {
  return fc.array(searches(dimension), { minLength: count, maxLength: count });
}

/**
 * What every read must answer, in the plainest code: no index, no stages, one pass after the other over an array of
 * records. It shares nothing with the engine but the definition of the distance; tests hold the two equal to the bit.
 */
import {
  type GetRequest,
  type GroupBy,
  type IndexPlan,
  type Knn,
  type Metadata,
  type MetadataArray,
  type MetadataScalar,
  type MetadataValue,
  type OrderBy,
  type Rank,
  type ResultRecord,
  type Search,
  type Selector,
  type SparseVector,
  type Where,
  arrayMembers,
  fromDocumentText,
} from "@sheaf/protocol";
import { oracleField } from "./oracle-field.ts";
import { oracleMmr } from "./oracle-mmr.ts";
import { distance } from "../../kernels/distance.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";

export interface OracleCollection {
  /** Live records, in any order. */
  readonly records: readonly StoredRecord[];
  readonly plan: IndexPlan;
}

interface Hit {
  readonly record: StoredRecord;
  readonly score: number;
}

interface Value {
  readonly support: ReadonlyMap<StoredRecord, number>;
  readonly default: number | null;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const MAX_PAGE = 10_000;
const f = Math.fround;

export function oracleSearch(collection: OracleCollection, search: Search): ResultRecord[] {
  const rows = oracleSelect(collection, { ids: null, where: search.where });
  const limit = search.limit ?? MAX_PAGE;
  let hits: Hit[];
  if (search.rank === null) {
    hits = inOrder(rows, search.orderBy)
      .slice(search.offset, search.offset + limit)
      .map((record, place) => ({ record, score: place }));
  } else {
    const { support } = rankValue(collection, rows, search.rank);
    hits = [...support].map(([record, score]) => ({ record, score })).sort(byScore);
    if (search.mmr !== undefined) hits = oracleMmr(hits, search.mmr);
    if (search.groupBy !== null) hits = group(hits, search.groupBy);
    hits = hits.slice(search.offset, search.offset + limit);
  }
  return hits.map(({ record, score }) => {
    const result: Writable<ResultRecord> = { id: record.id };
    if (search.select.document) result.document = record.document;
    if (search.select.embedding) result.embedding = record.embedding;
    if (search.select.metadata) result.metadata = record.metadata;
    else if (search.select.fields.length > 0) {
      const kept = [...(record.metadata ?? [])].filter(([key]) => search.select.fields.includes(key));
      result.metadata = kept.length === 0 ? null : new Map(kept);
    }
    if (search.select.score) result.score = score;
    return result;
  });
}

/** The matching records in insertion order. */
export function oracleSelect({ records }: OracleCollection, { ids, where }: Selector): StoredRecord[] {
  return records
    .filter((record) => ids === null || ids.includes(record.id))
    .filter((record) => where === null || matches(record, where))
    .sort((a, b) => a.offset - b.offset);
}

export function oracleGet(collection: OracleCollection, request: GetRequest): string[] {
  const end = request.limit === null ? undefined : request.offset + request.limit;
  return inOrder(oracleSelect(collection, request), request.orderBy)
    .slice(request.offset, end)
    .map(({ id }) => id);
}

/** Without a value under a key last; `rows` are in insertion order. */
function inOrder(rows: StoredRecord[], orderBy: OrderBy | undefined): StoredRecord[] {
  return rows.toSorted((a, b) => {
    for (const { key, descending } of orderBy?.keys ?? []) {
      const [x, y] = [a.metadata?.get(key), b.metadata?.get(key)];
      if (x === undefined && y === undefined) continue;
      if (x === undefined || y === undefined) return x === undefined ? 1 : -1;
      const order = compareValues(x, y);
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  });
}

/** Ids and distances of the k nearest of `rows`. */
export function oracleNearest(
  { plan }: OracleCollection,
  rows: readonly StoredRecord[],
  vector: Float32Array,
  k: number,
): { readonly id: string; readonly score: number }[] {
  return rows
    .map((record) => ({ record, score: distance(plan.space, vector, record.embedding) }))
    .sort(byScore)
    .slice(0, k)
    .map(({ record, score }) => ({ id: record.id, score }));
}

function matches(record: StoredRecord, where: Where): boolean {
  if (where.type === "and") return where.children.every((child) => matches(record, child));
  if (where.type === "or") return where.children.some((child) => matches(record, child));
  if (where.type === "compare") return compares(record.metadata?.get(where.key), where);
  return holds(record, where) !== where.negated;
}

/** A clause that can be negated, without its negation. */
function holds(record: StoredRecord, where: Extract<Where, { negated: boolean }>): boolean {
  if (where.type === "id") return where.ids.includes(record.id);
  const document = record.document === null ? null : fromDocumentText(record.document);
  if (where.type === "document_contains") return document?.includes(where.text) === true;
  if (where.type === "document_regex") {
    // The differential tests use only patterns on which both engines agree.
    const folds = where.pattern.startsWith("(?i)");
    const expression = new RegExp(folds ? where.pattern.slice(4) : where.pattern, folds ? "iu" : "u");
    return document !== null && expression.test(document);
  }
  const stored = record.metadata?.get(where.key);
  if (where.type === "in") return stored !== undefined && where.values.some((value) => same(stored, value));
  return isArray(stored) && [...arrayMembers(stored)].some((item) => same(item, where.value));
}

function isArray(value: MetadataValue | undefined): value is MetadataArray {
  return typeof value === "object" && !("indices" in value);
}

function compares(
  stored: MetadataValue | undefined,
  { operator, value }: Extract<Where, { type: "compare" }>,
): boolean {
  if (operator === "$eq") return stored !== undefined && same(stored, value);
  if (operator === "$ne") return stored === undefined || !same(stored, value);
  if (!number(stored) || !number(value)) return false;
  if (operator === "$gt") return stored > value;
  if (operator === "$gte") return stored >= value;
  if (operator === "$lt") return stored < value;
  return stored <= value;
}

function number(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Loose equality between a bigint and a number is exact in JavaScript. */
function same(a: MetadataValue, b: MetadataScalar): boolean {
  // oxlint-disable-next-line eqeqeq
  return number(a) && number(b) ? a == b : a === b;
}

function rankValue(collection: OracleCollection, rows: readonly StoredRecord[], rank: Rank): Value {
  const value = (operand: Rank): Value => rankValue(collection, rows, operand);
  if (rank.type === "val") return { support: new Map(), default: rank.value };
  if (rank.type === "knn") return { support: nearest(collection, rows, rank), default: rank.default };
  if (rank.type === "key" || rank.type === "age")
    return { support: oracleField(rows, rank), default: rank.default };
  if (rank.type === "binary") {
    const divide = rank.operator === "$div";
    return combine(value(rank.left), value(rank.right), (a, b) => f(divide ? a / b : a - b));
  }
  if (rank.type === "unary") {
    const operand = value(rank.operand);
    const apply = (x: number): number =>
      rank.operator === "$abs" ? Math.abs(x) : f(rank.operator === "$exp" ? Math.exp(x) : Math.log(x));
    return {
      support: new Map([...operand.support].map(([record, score]) => [record, apply(score)])),
      default: operand.default === null ? null : apply(operand.default),
    };
  }
  const largest = 3.4028234663852886e38;
  const start = { $sum: 0, $mul: 1, $max: -largest, $min: largest }[rank.operator];
  let folded: Value = { support: new Map(), default: start };
  for (const operand of rank.operands) {
    folded = combine(folded, value(operand), (a, b) => {
      if (rank.operator === "$sum") return f(a + b);
      if (rank.operator === "$mul") return f(a * b);
      if (Number.isNaN(a)) return b;
      if (Number.isNaN(b)) return a;
      return rank.operator === "$max" ? Math.max(a, b) : Math.min(a, b);
    });
  }
  return folded;
}

function combine(left: Value, right: Value, operation: (a: number, b: number) => number): Value {
  const support = new Map<StoredRecord, number>();
  const put = (record: StoredRecord): void => {
    const a = left.support.get(record) ?? left.default;
    const b = right.support.get(record) ?? right.default;
    if (a === null || b === null) throw new Error("the oracle asked for a value that is not there");
    support.set(record, operation(a, b));
  };
  if (left.default !== null && right.default !== null) {
    for (const record of [...left.support.keys(), ...right.support.keys()]) put(record);
    return { support, default: operation(left.default, right.default) };
  }
  if (left.default !== null) for (const record of right.support.keys()) put(record);
  else if (right.default !== null) for (const record of left.support.keys()) put(record);
  else for (const record of left.support.keys()) if (right.support.has(record)) put(record);
  return { support, default: null };
}

function nearest(
  collection: OracleCollection,
  rows: readonly StoredRecord[],
  knn: Knn,
): Map<StoredRecord, number> {
  const { query, key } = knn;
  const weights =
    query.type === "sparse" ? termWeights(collection, key, query.vector) : new Map<number, number>();
  const frequencies = frequencyShare(collection, key);
  const hits: Hit[] = [];
  for (const record of rows) {
    if (query.type === "dense") {
      hits.push({ record, score: distance(collection.plan.space, query.vector, record.embedding) });
    } else {
      const score = sparseScore(weights, sparse(record.metadata, key), frequencies);
      if (score !== null) hits.push({ record, score });
    }
  }
  const found = hits.sort(byScore).slice(0, knn.limit);
  return new Map(found.map(({ record, score }, place) => [record, knn.returnRank ? place : score]));
}

/** In ascending order of term. */
function termWeights(
  { records, plan }: OracleCollection,
  key: string,
  { indices, values }: SparseVector,
): Map<number, number> {
  const index = plan.sparse.find((index) => index.key === key);
  const documents = records.filter(({ metadata }) => length(sparse(metadata, key)) > 0).length;
  const weights = new Map<number, number>();
  indices.forEach((term, i) => {
    const holders = records.filter(
      ({ metadata }) => sparse(metadata, key)?.indices.includes(term) === true,
    ).length;
    const value = values[i] ?? Number.NaN;
    const idf = f(Math.log(1 + (records.length - holders + 0.5) / (holders + 0.5)));
    if (index?.statistics === undefined) weights.set(term, index?.bm25 === true ? f(value * idf) : value);
    else {
      const log = Math.log(1 + (documents - holders + 0.5) / (holders + 0.5));
      weights.set(term, f(value * f((index.statistics.k + 1) * log)));
    }
  });
  return weights;
}

/** Terms of a document, 0 without a vector or in an empty one. */
function length(vector: SparseVector | null): number {
  const total = [...(vector?.values ?? [])].reduce((sum, value) => sum + Math.max(value, 0), 0);
  return vector === null || vector.indices.length === 0
    ? 0
    : Math.min(2 ** 24, Math.max(1, Math.round(total)));
}

type Share = (value: number, vector: SparseVector) => number;

/** What a value of a record's vector counts, by the statistics of the collection if the key asks for them. */
function frequencyShare({ records, plan }: OracleCollection, key: string): Share {
  const statistics = plan.sparse.find((index) => index.key === key)?.statistics;
  if (statistics === undefined) return (value) => value;
  const { k, b } = statistics;
  const lengths = records.map(({ metadata }) => length(sparse(metadata, key))).filter((of) => of > 0);
  const average = lengths.reduce((sum, of) => sum + of, 0) / lengths.length;
  const floor = Math.max(f(k * (1 - b)), 2 ** -100);
  const slope = f((k * b) / average);
  return (value, vector) => {
    const frequency = Math.max(value, 0);
    return f(frequency / f(frequency + f(floor + f(slope * length(vector)))));
  };
}

/** `null`: no term in common. */
function sparseScore(
  weights: ReadonlyMap<number, number>,
  vector: SparseVector | null,
  share: Share,
): number | null {
  if (vector === null) return null;
  let sum = 0;
  let overlap = false;
  for (const [term, weight] of weights) {
    const at = vector.indices.indexOf(term);
    if (at === -1) continue;
    overlap = true;
    sum = f(sum + f(weight * share(vector.values[at] ?? Number.NaN, vector)));
  }
  return overlap ? f(1 - sum) : null;
}

function sparse(metadata: Metadata | null, key: string): SparseVector | null {
  const value = metadata?.get(key);
  return typeof value === "object" && "indices" in value ? value : null;
}

function byScore(a: Hit, b: Hit): number {
  return totalCmp(a.score, b.score) || a.record.offset - b.record.offset;
}

function totalCmp(a: number, b: number): number {
  const key = (value: number): number => {
    if (Number.isNaN(value)) return 2 ** 31;
    const bits = new DataView(new ArrayBuffer(4));
    bits.setFloat32(0, value);
    const integer = bits.getInt32(0);
    return integer < 0 ? integer ^ 0x7fff_ffff : integer;
  };
  return key(a) - key(b);
}

function group(hits: readonly Hit[], { keys, aggregate }: GroupBy): Hit[] {
  const groups: { readonly values: (MetadataValue | undefined)[]; members: Hit[] }[] = [];
  for (const hit of hits) {
    const values = keys.map((key) => hit.record.metadata?.get(key));
    const known = groups.find((group) =>
      group.values.every((value, i) => compareValues(value, values[i]) === 0),
    );
    if (known === undefined) groups.push({ values, members: [hit] });
    else known.members.push(hit);
  }
  const compare = (a: Hit, b: Hit): number => {
    for (const key of aggregate.keys) {
      const order =
        key === "#score"
          ? totalCmp(a.score, b.score)
          : compareValues(a.record.metadata?.get(key), b.record.metadata?.get(key));
      if (order !== 0) return aggregate.operator === "$min_k" ? order : -order;
    }
    return 0;
  };
  const kept = new Set(groups.flatMap(({ members }) => [...members].sort(compare).slice(0, aggregate.k)));
  return hits.filter((hit) => kept.has(hit));
}

function compareValues(a: MetadataValue | undefined, b: MetadataValue | undefined): number {
  const rank = (value: MetadataValue | undefined): number => {
    if (value === undefined) return -1;
    const scalar = ["boolean", "bigint", "number", "string"];
    if (typeof value !== "object") return scalar.indexOf(typeof value);
    if ("indices" in value) return 4;
    const [first] = arrayMembers(value);
    return first === undefined ? 5 : 5 + scalar.indexOf(typeof first);
  };
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === "object" && typeof b === "object") {
    const list = (value: typeof a): MetadataScalar[] =>
      "indices" in value ? [...value.indices, -1, ...value.values] : [...arrayMembers(value)];
    const [x, y] = [list(a), list(b)];
    for (let i = 0; i < Math.min(x.length, y.length); i++) {
      const order = compareValues(x[i], y[i]);
      if (order !== 0) return order;
    }
    return x.length - y.length;
  }
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a === undefined || b === undefined || a === b) return 0;
  return a < b ? -1 : 1;
}

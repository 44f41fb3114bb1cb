/**
 * The traces of the records on a page, made one by one when the records are read: every node of the rank expression with
 * its value, by the arithmetic of `rank-expression.ts`. Nothing of them is kept but what the `$knn` leaves found.
 */
import {
  type FieldLeaf,
  type Knn,
  LIMITS,
  type Rank,
  SheafError,
  type SparseVector,
  isSparseVector,
  writeFloat64,
  writeVector,
} from "@sheaf/protocol";
import { type Steps, isInSteps, startSteps } from "../../storage/steps.ts";
import { documentLength, restOf, saturated } from "../../segment/postings/document-length.ts";
import { fieldScore } from "../rank/field-values.ts";
import { foldOf, ofDefaults, unaryOf } from "../rank/rank-expression.ts";
import type { RecordContent, RecordView } from "../record-view.ts";
import { tokensOf } from "./trace-size.ts";
import type { PageLeaf } from "./page-leaves.ts";

/** Terms between two pauses. */
const TERMS_PER_STEP = 512;

/** The nodes of all traces of a call. */
export class TraceBudget {
  #left = LIMITS.traceNodes;

  /** Throws 413 over the limit, naming the member that asked for traces. */
  spend(nodes: number, path: string): void {
    this.#left -= nodes;
    if (this.#left >= 0) return;
    throw new SheafError(
      "too_large",
      `${path}: the traces of a call have at most ${LIMITS.traceNodes} nodes; ask for fewer records with limit`,
    );
  }
}

export interface TracedSearch {
  readonly rank: Rank;
  /** Of the `$knn` leaves, in their order. */
  readonly leaves: readonly PageLeaf[];
  /** Of `explain` in the body. */
  readonly path: string;
}

interface Node {
  /** f32. */
  readonly value: number;
  readonly json: string;
}

/** One record of the page. */
interface Traced {
  readonly place: number;
  readonly position: number;
  readonly knns: Iterator<PageLeaf>;
  /** What the sparse leaves have of it. */
  readonly matches: ReadonlyMap<PageLeaf, Matches>;
}

interface Matches {
  readonly dotProduct: number;
  readonly json: string;
  /** Of the record, where BM25 counts it. */
  readonly length: number | null;
}

export class PageTraces {
  readonly #search: TracedSearch;
  readonly #view: RecordView;
  readonly #budget: TraceBudget;
  /** The last that was begun: a record that does not fit into a batch comes again with the next. */
  #last: { readonly place: number; readonly json: Steps<string> } | null = null;

  /** The nodes of the expression are to be paid for already. */
  constructor(search: TracedSearch, view: RecordView, budget: TraceBudget) {
    this.#search = search;
    this.#view = view;
    this.#budget = budget;
  }

  get heldBytes(): number {
    return this.#search.leaves.reduce((sum, { ranks }) => sum + 2 * ranks.byteLength, 0);
  }

  /** JSON of the trace of the record at a place of the page; in steps where its sparse vectors are long. */
  of(place: number, position: number): Steps<string> {
    if (this.#last?.place === place) return this.#last.json;
    const { leaves } = this.#search;
    const sparse = leaves.filter(({ weighed, ranks }) => weighed !== null && ranks[place]! >= 0);
    if (sparse.length > 0) return this.#keep(place, startSteps(this.#inSteps(sparse, place, position)));
    return this.#keep(place, this.#trace({ place, position, matches: new Map() }));
  }

  *#inSteps(sparse: readonly PageLeaf[], place: number, position: number): Generator<void, string> {
    const read = this.#view.readInSteps(position, false);
    const record: RecordContent = isInSteps(read) ? yield* read : read;
    const matches = new Map<PageLeaf, Matches>();
    for (const leaf of sparse) {
      const stored = record.metadata?.get(leaf.knn.key);
      if (typeof stored !== "object" || !isSparseVector(stored)) continue;
      matches.set(leaf, yield* matchesOf(leaf, stored, (terms) => this.#spend(terms)));
    }
    const json = this.#trace({ place, position, matches });
    this.#keep(place, json);
    return json;
  }

  #spend(nodes: number): void {
    this.#budget.spend(nodes, this.#search.path);
  }

  #keep(place: number, json: Steps<string>): Steps<string> {
    this.#last = { place, json };
    return json;
  }

  #trace(traced: Omit<Traced, "knns">): string {
    const { rank, leaves } = this.#search;
    return this.#node(rank, { ...traced, knns: leaves.values() }).json;
  }

  #node(rank: Rank, traced: Traced): Node {
    if (rank.type === "val") return nodeOf("$val", Math.fround(rank.value));
    if (rank.type === "knn") return knnNode(rank, traced);
    if (rank.type === "key" || rank.type === "age") return this.#fieldNode(rank, traced);
    if (rank.type === "unary") {
      const operand = this.#node(rank.operand, traced);
      return operatorNode(rank.operator, unaryOf(rank.operator, operand.value), [operand]);
    }
    if (rank.type === "binary") {
      const left = this.#node(rank.left, traced);
      const right = this.#node(rank.right, traced);
      return operatorNode(rank.operator, ofDefaults(rank.operator, left.value, right.value), [left, right]);
    }
    const operands = rank.operands.map((operand) => this.#node(operand, traced));
    const values = operands.map(({ value }) => value);
    return operatorNode(rank.operator, foldOf(rank.operator, values), operands);
  }

  #fieldNode(leaf: FieldLeaf, { position }: Traced): Node {
    const stored = this.#view.snapshot.metadataValue(position, leaf.key);
    const score = fieldScore(stored, leaf);
    const key = `,"key":${JSON.stringify(leaf.key)}`;
    if (score === null) return nodeOf(`$${leaf.type}`, leaf.default!, `${key},"from":"default"`);
    const json = typeof stored === "number" ? writeFloat64(stored) : `${stored as bigint | boolean}`;
    return nodeOf(`$${leaf.type}`, score, `${key},"from":"record","stored":${json}`);
  }
}

function knnNode(knn: Knn, { place, knns, matches }: Traced): Node {
  const leaf = knns.next().value as PageLeaf;
  const text = textOf(knn);
  const rank = leaf.ranks[place]!;
  const key = `,"key":${JSON.stringify(knn.key)}`;
  if (rank < 0) return nodeOf("$knn", knn.default!, `${key},"from":"default"${text}`);
  const distance = leaf.distances[place]!;
  const found = `${key},"from":"limit","rank":${rank}`;
  const value = knn.returnRank ? rank : distance;
  const match = matches.get(leaf);
  if (match === undefined) return nodeOf("$knn", value, `${found},"distance":${floatJson(distance)}${text}`);
  const length = match.length === null ? "" : `,"length":${match.length}`;
  const dotProduct = `,"dot_product":${floatJson(match.dotProduct)}${length},"terms":[${match.json}]`;
  return nodeOf("$knn", value, found + dotProduct + text);
}

/** The model that embedded a text, and its terms, or what it read of it. */
function textOf(knn: Knn): string {
  if (knn.model === undefined) return "";
  return `,"model":${JSON.stringify(knn.model)},"tokens":${JSON.stringify(tokensOf(knn))}`;
}

/** The terms of a record that a sparse query has, ascending, and their sum; both have their terms in ascending order. */
function* matchesOf(
  { knn, weighed }: PageLeaf,
  stored: SparseVector,
  spend: (terms: number) => void,
): Generator<void, Matches> {
  if (knn.query.type !== "sparse" || weighed === null) return { dotProduct: 0, json: "", length: null };
  const { indices, tokens } = knn.query.vector;
  const { weights, saturation, holders } = weighed;
  const length = saturation === null ? null : documentLength(stored.values);
  const rest = saturation === null || length === null ? 0 : restOf(saturation, length);
  let dotProduct = 0;
  let json = "";
  for (let i = 0, j = 0, steps = 1; i < indices.length && j < stored.indices.length; steps++) {
    const [asked, held] = [indices[i]!, stored.indices[j]!];
    if (asked === held) {
      const [query, value] = [weights[i]!, stored.values[j]!];
      const record = saturation === null ? value : saturated(value, rest);
      dotProduct = Math.fround(dotProduct + Math.fround(query * record));
      const token = tokens?.[i] ?? stored.tokens?.[j];
      const named = token === undefined ? "" : `,"token":${JSON.stringify(token)}`;
      const comma = json === "" ? "" : ",";
      const frequency = saturation === null ? "" : `,"frequency":${floatJson(value)}`;
      const documents = holders === null ? "" : `,"documents":${holders[i]}`;
      const pair = `"query":${floatJson(query)},"record":${floatJson(record)}`;
      json += `${comma}{"term":${asked}${named},${pair}${frequency}${documents}}`;
      spend(1);
    }
    if (asked <= held) i++;
    if (held <= asked) j++;
    if (steps % TERMS_PER_STEP === 0) yield;
  }
  return { dotProduct, json, length };
}

function operatorNode(op: string, value: number, operands: readonly Node[]): Node {
  return nodeOf(op, value, `,"operands":[${operands.map(({ json }) => json).join(",")}]`);
}

function nodeOf(op: string, value: number, more = ""): Node {
  return { value, json: `{"op":"${op}","value":${floatJson(value)}${more}}` };
}

const FLOAT = new Float32Array(1);

/** An f32, shortest; JSON has no others than the finite ones, so these are texts. */
function floatJson(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  FLOAT[0] = value;
  return writeVector(FLOAT).slice(1, -1);
}

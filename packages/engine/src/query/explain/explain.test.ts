/**
 * Explained searches against the oracle, on random collections: evaluating a trace again gives the score to the bit, every
 * node says what it says of the whole, and a record that is missing is missing for the reason that is given.
 */
import type { Rank, ResultRecord, Search, Where, WhyNot } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { executeSearch } from "../execute.ts";
import { knns, plans, searches, writes } from "../testing/arbitraries.ts";
import { DifferentialRun } from "../testing/differential-run.ts";
import { type TraceNode, evaluateTrace, numberOf, traceNodes } from "../testing/evaluate-trace.ts";
import { oracleSearch, oracleSelect } from "../testing/oracle.ts";
import { recordsOf } from "../testing/records-of.ts";
import { TestCollection, type TestCollectionOptions } from "../testing/test-collection.ts";

const DIMENSION = 3;
const SEARCHES_PER_COLLECTION = 8;
const RUN = new DifferentialRun("traces");
console.log(RUN.words);

const IDS = [...Array.from({ length: 24 }, (_, i) => `r${i}`), "unknown"];
const SEALED = { denseRows: 1, sizes: { mutableRows: 32, sealedRows: 64 }, minSparseTail: 4 };

let traced = 0;
const reasons = new Map<string, number>();

/** Reciprocal rank fusion, as clients write it. */
const fusions: fc.Arbitrary<Rank> = fc
  .array(fc.tuple(knns(DIMENSION), fc.constantFrom(1, 0.25, 3)), { minLength: 2, maxLength: 3 })
  .map((parts) => {
    const operands = parts.map(([knn, weight]): Rank => {
      const place: Rank = { ...knn, returnRank: true, default: knn.limit };
      const right: Rank = {
        type: "nary",
        operator: "$sum",
        operands: [{ type: "val", value: 60 }, place],
      };
      return { type: "binary", operator: "$div", left: { type: "val", value: weight }, right };
    });
    const sum: Rank = { type: "nary", operator: "$sum", operands };
    return { type: "nary", operator: "$mul", operands: [sum, { type: "val", value: -1 }] };
  });

const explainedSearches: fc.Arbitrary<Search> = fc
  // Most of the time goes into asking the oracle about what is missing.
  .tuple(searches(DIMENSION), fc.option(fusions, { freq: 3 }), fc.constantFrom(IDS, null, null, null))
  .map(([{ orderBy, ...search }, fusion, ids]) => ({
    ...search,
    ...(fusion === null ? orderBy && { orderBy } : { rank: fusion }),
    select: { ...search.select, score: true },
    explain: { ids, path: "searches[0].explain" },
  }));

async function built({ index }: TestCollection): Promise<void> {
  while (index.isBuilding) await new Promise((resolve) => setTimeout(resolve, 1));
}

function checkTraces(records: readonly ResultRecord[], { rank }: Search): void {
  for (const { score, trace } of records) {
    if (rank === null) {
      expect(trace).toBeUndefined();
      continue;
    }
    const tree = JSON.parse(trace!) as TraceNode;
    isSame(evaluateTrace(tree), [score!], tree);
    isSame(numberOf(tree.value), [score!], tree);
    for (const node of traceNodes(tree)) checkNode(node);
    traced++;
  }
}

function checkNode(node: TraceNode): void {
  isSame(numberOf(node.value), [evaluateTrace(node)], node);
  if (node.op !== "$knn" || node.from === "default") return;
  const { terms, dot_product: product, distance } = node;
  if (product === undefined) {
    isSame(numberOf(node.value), [node.rank!, numberOf(distance!)], node);
    return;
  }
  const f = Math.fround;
  const sum = terms!.reduce((all, { query, record }) => f(all + f(numberOf(query) * numberOf(record))), 0);
  isSame(numberOf(product), [sum], node);
  isSame(numberOf(node.value), [node.rank!, f(1 - sum)], node);
}

/** To the bit; by hand, for millions of expectations take minutes. */
function isSame(value: number, allowed: readonly number[], node: TraceNode): void {
  if (!allowed.some((one) => Object.is(one, value)))
    throw new Error(`${value}, not ${allowed.join(" or ")}: ${JSON.stringify(node)}`);
}

/** What is true of each record by the oracle. */
function checkWhyNot(collection: TestCollection, search: Search, found: readonly WhyNot[]): void {
  const { mmr: _mmr, ...everything } = search;
  const idsOf = (one: Search): string[] => oracleSearch(collection, one).map(({ id }) => id);
  const ids = (changes: Partial<Search>): string[] => idsOf({ ...search, ...changes });
  const page = ids({});
  const whole = { offset: 0, limit: null };
  const kept = ids(whole);
  const ranked = idsOf({ ...everything, ...whole, groupBy: null });
  const chosen = ids({ ...whole, groupBy: null });
  const all = new Set(collection.records.map(({ id }) => id));
  const passing = new Set(oracleSelect(collection, { ids: null, where: search.where }).map(({ id }) => id));
  expect(found.map(({ id }) => id)).toEqual(IDS.filter((id) => !page.includes(id)));
  for (const { id, reason, path, rank } of found) {
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    if (!all.has(id)) expect(reason).toBe("absent");
    else if (!passing.has(id)) {
      expect(reason).toBe("filtered");
      const where = clauseAt(search.where!, path!);
      expect(oracleSelect(collection, { ids: [id], where })).toEqual([]);
    } else if (!ranked.includes(id)) {
      expect(reason).toBe("outside_leaf");
      if (path === undefined) continue;
      const leaf = { ...leafAt(search.rank!, path), default: null };
      expect(idsOf({ ...everything, ...whole, groupBy: null, rank: leaf })).not.toContain(id);
    } else {
      const place = ranked.indexOf(id);
      expect(rank).toBe(search.orderBy === undefined ? place : undefined);
      if (!chosen.includes(id)) expect(reason).toBe("diversified_out");
      else if (kept.includes(id)) expect(reason).toBe("below_page");
      // Where the page was full before its turn came, nobody looked at its group.
      else if (reason !== "grouped_out") {
        expect(reason).toBe("below_page");
        // What mmr has put in another order is looked at whole.
        expect(search.mmr).toBeUndefined();
        const last = kept[search.offset + search.limit! - 1];
        expect(last).toBeDefined();
        expect(chosen.indexOf(id)).toBeGreaterThan(chosen.indexOf(last!));
      }
    }
  }
}

function clauseAt(where: Where, path: string): Where {
  let clause = where;
  for (const [, i] of path.matchAll(/\$and\[(\d+)\]/gu)) {
    if (clause.type !== "and") throw new Error(`${path} leads nowhere`);
    clause = clause.children[Number(i)]!;
  }
  const last = path.slice(path.lastIndexOf(".") + 1);
  if ("key" in clause) expect(last).toBe(clause.key);
  else expect(last).toBe(clause.type === "or" ? "$or" : clause.type === "id" ? "#id" : "#document");
  return clause;
}

function leafAt(rank: Rank, path: string): Extract<Rank, { default: number | null }> {
  let node = rank;
  for (const [, side, i] of path.matchAll(
    /\$(?:sub|div)\.(left|right)|\$\w+\[(\d+)\]|\$(?:abs|exp|log)\b/gu,
  )) {
    if (node.type === "binary") node = side === "left" ? node.left : node.right;
    else if (node.type === "nary") node = node.operands[Number(i)]!;
    else if (node.type === "unary") node = node.operand;
  }
  if (node.type !== "knn" && node.type !== "key" && node.type !== "age") throw new Error(path);
  return node;
}

async function compare(collection: TestCollection, list: readonly Search[]): Promise<void> {
  const started = executeSearch(collection.context, { searches: list, readLevel: "index_and_wal" });
  const records = await recordsOf(started);
  const { explained } = (await started).first;
  for (const [i, search] of list.entries()) {
    const untraced = records[i]!.map((record) =>
      Object.fromEntries(Object.entries(record).filter(([name]) => name !== "trace")),
    );
    expect(untraced).toStrictEqual(oracleSearch(collection, search));
    checkTraces(records[i]!, search);
    const { whyNot } = explained![i]!;
    expect(whyNot === null).toBe(search.explain!.ids === null);
    if (whyNot !== null) checkWhyNot(collection, search, whyNot);
  }
}

describe("explained searches", () => {
  it.each<[string, TestCollectionOptions]>([
    ["of rows that are not sealed", {}],
    ["of sealed segments", SEALED],
  ])("%s say how scores came about, and what is missing", async (_, options) => {
    const requests = fc.array(explainedSearches, {
      minLength: SEARCHES_PER_COLLECTION,
      maxLength: SEARCHES_PER_COLLECTION,
    });
    await fc.assert(
      fc.asyncProperty(plans, writes(DIMENSION), requests, async (plan, changes, list) => {
        const collection = new TestCollection(plan, options);
        for (const write of changes) {
          if (write.type === "put") collection.put(write.id, write.content);
          else collection.remove(write.id);
        }
        await built(collection);
        await compare(collection, list);
        collection.index.close();
      }),
      RUN.runs(0.5, SEARCHES_PER_COLLECTION),
    );
  });

  it("were of every kind", () => {
    expect(traced).toBeGreaterThan(RUN.cases);
    expect([...reasons.keys()].sort()).toEqual([
      "absent",
      "below_page",
      "diversified_out",
      "filtered",
      "grouped_out",
      "outside_leaf",
    ]);
  });
});

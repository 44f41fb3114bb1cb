/**
 * The oracle lanes over an index that is closed and opened from its files between operations, with segments so small that
 * a few dozen records are sealed, written, merged and read back. `SHEAF_DIFFERENTIAL_CASES` and `SHEAF_DIFFERENTIAL_SEED`
 * as in `differential.test.ts`.
 */
import { setTimeout } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { executeCount, executeSearch, selectOffsets } from "./execute.ts";
import { contents, plans, searches, wheres, writes } from "./testing/arbitraries.ts";
import { DifferentialRun } from "./testing/differential-run.ts";
import { FiledCollection } from "./testing/filed-collection.ts";
import { oracleSearch, oracleSelect } from "./testing/oracle.ts";
import type { RecordContent } from "./testing/test-collection.ts";
import { recordsOf } from "./testing/records-of.ts";

const DIMENSION = 3;
const ROUNDS = 4;
const SEARCHES_PER_ROUND = 4;
const RUN = new DifferentialRun("reopened", 0.02);
console.log(RUN.words);
const RUNS = RUN.runs(1, ROUNDS * SEARCHES_PER_ROUND);

const OPTIONS = { denseRows: 1, sizes: { mutableRows: 32, sealedRows: 64 }, minSparseTail: 4 };

interface Round {
  /** Records that are written first: as many as fill a segment, and stay for the most part. */
  readonly filled: readonly RecordContent[];
  readonly changes: readonly (ReturnType<typeof writes> extends fc.Arbitrary<infer T> ? T : never)[number][];
  /** What is done of it before the collection is closed. */
  readonly seals: boolean;
  /** Jobs are under way as records change. */
  readonly works: boolean;
  readonly flushes: boolean;
  readonly closes: boolean;
}

/** Segments are sealed by jobs, as the indexer process does. */
const jobs = fc.boolean();

const rounds = fc.array(
  fc.record({
    filled: fc.array(contents(DIMENSION), { minLength: 20, maxLength: 40, size: "max" }),
    changes: writes(DIMENSION),
    seals: fc.boolean(),
    works: fc.boolean(),
    flushes: fc.boolean(),
    closes: fc.boolean(),
  }),
  { minLength: ROUNDS, maxLength: ROUNDS },
);

let restored = 0;
let written = 0;
/** Rounds in which jobs could write something. */
let sealed = 0;
/** So many leave no doubt: a run of few cases may have none. */
const ENOUGH_SEALED = 5;

async function pass(collection: FiledCollection, round: Round, first: number): Promise<void> {
  const { filled, changes, seals, works, flushes, closes } = round;
  for (const [i, content] of filled.entries()) collection.put(`filled${first + i}`, content);
  if (works) while (collection.index.maintain(true));
  for (const write of changes) {
    if (write.type === "put") collection.put(write.id, write.content);
    else collection.remove(write.id);
    if (works) await setTimeout(0);
  }
  if (seals) await collection.sealByJobs();
  if (seals && collection.options.byJobs === true) sealed++;
  if (flushes) await collection.flush();
  if (closes) await collection.close();
  written += collection.written;
  if ((await collection.reopen()) === "restored") restored++;
  expect(collection.problems).toEqual([]);
}

describe("a collection that is opened from its index files again and again", () => {
  it("answers every search alike", async () => {
    const requests = fc.array(searches(DIMENSION), {
      minLength: SEARCHES_PER_ROUND,
      maxLength: SEARCHES_PER_ROUND,
    });
    await fc.assert(
      fc.asyncProperty(plans, jobs, rounds, requests, async (plan, byJobs, list, asked) => {
        const collection = new FiledCollection(plan, { ...OPTIONS, byJobs });
        for (const [i, round] of list.entries()) {
          await pass(collection, round, i * 25);
          const expected = asked.map((one) => oracleSearch(collection, one));
          const request = { searches: asked, readLevel: "index_and_wal" } as const;
          expect(await recordsOf(executeSearch(collection.context, request))).toStrictEqual(expected);
        }
      }),
      RUNS,
    );
    expect(restored).toBeGreaterThan(0);
    if (sealed >= ENOUGH_SEALED) expect(written).toBeGreaterThan(0);
  });

  it("selects and counts alike", async () => {
    await fc.assert(
      fc.asyncProperty(plans, jobs, rounds, wheres, async (plan, byJobs, list, where) => {
        const collection = new FiledCollection(plan, { ...OPTIONS, byJobs });
        for (const [i, round] of list.entries()) {
          await pass(collection, round, i * 25);
          const selector = { ids: null, where };
          const rows = oracleSelect(collection, selector);
          expect(await executeCount(collection.context, selector)).toBe(rows.length);
          expect(await selectOffsets(collection.context, selector, null)).toEqual(
            rows.map(({ offset }) => offset),
          );
        }
      }),
      RUNS,
    );
  });
});

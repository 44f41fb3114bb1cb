/**
 * 50,000 requests of a seed that a server does not expect, after those that it answered wrongly once. More of them:
 * `npm run fuzz -- --requests N --seed S`.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type FuzzReport, runFuzz } from "./fuzz-run.ts";

const REQUESTS = 50_000;
const SEED = 1;
/** What the heaps of five processes may differ by from one moment to another. */
const SLACK_MEBIBYTES = 150;
const GROWTH = 1.35;

let report: FuzzReport;
beforeAll(async () => {
  report = await runFuzz({ requests: REQUESTS, seed: SEED });
}, 300_000);

describe(`a server after ${REQUESTS} hostile requests of seed ${SEED}`, () => {
  it("has answered each of them in time, in the form of an answer, and none with a fault of its own", () => {
    expect(report.failures).toEqual([]);
    expect(report.sent).toBeGreaterThanOrEqual(REQUESTS);
  });

  it("has been asked something on every route", () => {
    const unasked = Object.entries(report.byRoute).filter(([, counts]) => Object.keys(counts).length === 0);
    expect(unasked).toEqual([]);
  });

  it("has done much of what it was asked, so that more than its checks was tried", () => {
    for (const what of ["add", "upsert", "update", "delete", "get", "query", "search", "fork"]) {
      const route = `POST /api/v2/tenants/:tenant/databases/:database/collections/:collection/${what}`;
      const done = (report.byRoute[route]?.["200"] ?? 0) + (report.byRoute[route]?.["201"] ?? 0);
      expect({ what, done }).toEqual({ what, done: expect.toSatisfy((count: number) => count >= 50) });
    }
  });

  it("has logged no error", () => {
    expect(report.log.split("\n").filter((line) => line.startsWith("{"))).toEqual([]);
  });

  it("keeps no memory of it", () => {
    const { early, late } = report.memory;
    expect(late).toBeLessThan(early * GROWTH + SLACK_MEBIBYTES);
  });
});

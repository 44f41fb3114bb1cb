import { describe, expect, it } from "vitest";
import { MetricsHistory } from "./metrics-history.ts";

const START = Date.UTC(2030, 0, 1);
const TEN_SECONDS = 10_000;

describe("MetricsHistory", () => {
  it("counts requests, refusals, failures and tokens of an interval once it is over", () => {
    let now = START;
    const history = new MetricsHistory(() => now);
    for (const status of [200, 201, 404, 503]) history.request(status, 0.01);
    history.stage("engine.search", 0.004);
    history.tokens(12);
    expect(history.intervals).toEqual([]);
    now += TEN_SECONDS;
    expect(history.intervals).toMatchObject([
      {
        from: START,
        requests: 4,
        refused: 1,
        failed: 1,
        tokens: 12,
        stages: { "engine.search": { count: 1 } },
      },
    ]);
  });

  it("gives quantiles to within a tenth", () => {
    let now = START;
    const history = new MetricsHistory(() => now);
    for (let ms = 1; ms <= 1_000; ms++) history.stage("s", ms / 1_000);
    now += TEN_SECONDS;
    const { p50, p95 } = history.intervals[0]!.stages["s"]!;
    expect(Math.abs(p50 / 500 - 1)).toBeLessThan(0.1);
    expect(Math.abs(p95 / 950 - 1)).toBeLessThan(0.1);
  });

  it("keeps an hour, leaves out what was idle, and is bounded whatever is measured", () => {
    let now = START;
    const history = new MetricsHistory(() => now);
    for (let i = 0; i < 500; i++) {
      history.request(200, i);
      if (i % 2 === 0) history.stage("s", Infinity);
      now += TEN_SECONDS;
    }
    expect(history.intervals).toHaveLength(360);
    expect(history.intervals[0]!.from).toBe(now - 360 * TEN_SECONDS);
    for (let i = 0; i < 1_000; i++) history.stage(`name ${i}`, 0);
    now += 3_600_000;
    expect(Object.keys(history.intervals[0]!.stages).length).toBeLessThanOrEqual(100);
    now += TEN_SECONDS;
    expect(history.intervals).toEqual([]);
  });

  it("goes on where the clock is set back", () => {
    let now = START;
    const history = new MetricsHistory(() => now);
    history.request(200, 1);
    now -= 3_600_000;
    history.request(200, 1);
    now = START + TEN_SECONDS;
    expect(history.intervals).toMatchObject([{ from: START, requests: 2 }]);
  });
});

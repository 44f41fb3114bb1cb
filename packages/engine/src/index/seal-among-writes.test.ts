import { describe, expect, it } from "vitest";
import { randomOf } from "../segment/dense/testing/data-sets.ts";
import { runSteps } from "../storage/steps.ts";
import { sealAmongWrites } from "./seal-among-writes.ts";
import { Indexed } from "./testing/indexed.ts";

const BATCH = 1_000;
const sizes = { mutableRows: 1_024, sealedRows: 8_192 };

describe("writers that seal", () => {
  it("keep what is not sealed within a few of the largest segments, whatever the background does", () => {
    const indexed = new Indexed("cosine", { sizes });
    const random = randomOf(3);
    const unsealed: number[] = [];
    for (let batch = 0; batch < 40; batch++) {
      for (let row = 0; row < BATCH; row++)
        indexed.put(
          batch * BATCH + row,
          Float32Array.from({ length: 16 }, () => random() - 0.5),
        );
      runSteps(indexed.index.keepUp(BATCH));
      const mutable = indexed.index.segments.filter(({ segment }) => !segment.isSealed);
      unsealed.push(mutable.reduce((sum, { liveCount }) => sum + liveCount, 0));
    }
    expect(Math.max(...unsealed)).toBeLessThan(3.5 * sizes.sealedRows);
    indexed.index.close();
  });

  it("do nothing while no more waits than becomes a segment, and ever more above", () => {
    const stepsAt = (unsealed: number): number =>
      [...sealAmongWrites({ rows: 400, unsealed, segmentRows: 100 }, () => true)].length;
    expect([0, 100, 150, 200, 300, 900].map(stepsAt)).toEqual([0, 0, 50, 100, 200, 200]);
  });
});

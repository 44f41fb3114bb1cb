import { describe, expect, it } from "vitest";
import { runSteps } from "../../storage/steps.ts";
import { KMeans } from "./k-means.ts";
import { sampler } from "./testing/data-sets.ts";

const WIDTH = 64;
const CENTROIDS = 256;
const ROWS = 8 * CENTROIDS;

describe("the nearest of many centroids", () => {
  it("is nearly always around that of a vector beside it, and is looked for nowhere else", () => {
    const topics = sampler("topics", WIDTH, 1);
    const rows = Array.from({ length: ROWS }, () => topics.next().vector);
    const sample = new Float32Array(ROWS * WIDTH);
    rows.forEach((row, i) => sample.set(row, i * WIDTH));
    const kMeans = new KMeans(WIDTH, CENTROIDS);
    runSteps(kMeans.train(sample));
    let [same, elsewhere] = [0, 0];
    for (const [i, row] of rows.entries()) {
      const nearest = kMeans.nearest(row);
      const beside = row.map((x, j) => x + 0.02 * rows[(i + 1) % ROWS]![j]!);
      if (kMeans.nearest(row, kMeans.nearest(beside)) === nearest) same++;
      if (kMeans.nearest(row, (nearest + CENTROIDS / 2) % CENTROIDS) !== nearest) elsewhere++;
    }
    kMeans.close();
    expect(same / ROWS).toBeGreaterThan(0.99);
    expect(elsewhere / ROWS).toBeGreaterThan(0.3);
  });
});

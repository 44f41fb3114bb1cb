import { expect, it } from "vitest";
import { gaussOf, randomOf } from "../segment/dense/testing/data-sets.ts";
import { distance, prepare } from "./distance.ts";
import { QueryDistance } from "./value-memory.ts";

it("gives the distance that is defined for every dimension from 1 to 4,096", () => {
  const gauss = gaussOf(randomOf(8));
  const next = (): Float32Array => new Float32Array(4_096).map(gauss);
  const [a, b] = [next(), next()];
  for (let dimension = 4_096; dimension >= 1; dimension--) {
    const [x, y] = [a.subarray(0, dimension), b.subarray(0, dimension)];
    for (const space of ["l2", "ip", "cosine"] as const)
      expect(new QueryDistance(space, prepare(space, x)).to(y)).toBe(distance(space, x, y));
  }
});

import { describe, expect, it } from "vitest";
import { compareTotal, totalOrderKey } from "./total-order.ts";

const ASCENDING = [-Infinity, -3.4e38, -1, -(2 ** -149), -0, 0, 2 ** -149, 1, 3.4e38, Infinity, Number.NaN];

describe("total order of f32", () => {
  it.each(ASCENDING.flatMap((a, i) => ASCENDING.map((b, j) => [a, b, Math.sign(i - j)] as const)))(
    "compares %d with %d",
    (a, b, sign) => {
      expect(Math.sign(compareTotal(a, b))).toBe(sign);
      expect(Math.sign(totalOrderKey(a) - totalOrderKey(b))).toBe(sign);
    },
  );
});

import { describe, expect, it } from "vitest";
import { RowNumbers } from "./row-numbers.ts";

describe("RowNumbers", () => {
  it("says which row holds a record now", () => {
    const numbers = new RowNumbers();
    const given = Array.from({ length: 3_000 }, () => numbers.next());
    expect(given).toStrictEqual([...given.keys()]);
    numbers.place(2_999, 7 * 2 ** 32);
    expect(numbers.row(2_999)).toBe(7 * 2 ** 32);
    numbers.remove(2_999);
    expect([numbers.row(2_999), numbers.row(0), numbers.row(9_999)]).toStrictEqual([null, null, null]);
  });

  it("asks for new numbers when most belong to gone records", () => {
    const numbers = new RowNumbers();
    for (let i = 0; i < 70_000; i++) numbers.next();
    expect(numbers.isSparse(10_000)).toBe(false);
    expect(numbers.isSparse(100)).toBe(true);
    numbers.clear();
    expect([numbers.limit, numbers.isSparse(0)]).toStrictEqual([0, false]);
  });
});

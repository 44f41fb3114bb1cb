import { ByteBudget } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { RequestHold } from "./request-hold.ts";

function hold() {
  const budget = new ByteBudget({ what: "request bodies", perTenant: 100, whole: 300 });
  const made = new RequestHold();
  made.lease = budget.charge("a", 60);
  return { budget, made };
}

describe("RequestHold", () => {
  it("gives everything back once, when the request is over", () => {
    const { budget, made } = hold();
    let turns = 0;
    made.turn = { release: () => turns++ };
    expect(budget.held).toBe(60);
    made.release();
    made.release();
    expect(budget.held).toBe(0);
    expect(turns).toBeGreaterThan(0);
  });

  it("keeps it for calls that go on after the request", () => {
    const { budget, made } = hold();
    const [one, other] = [made.keep(), made.keep()];
    one();
    made.release();
    expect(budget.held).toBe(60);
    other();
    expect(budget.held).toBe(0);
  });

  it("charges what a parsed body takes beyond its bytes, within the bounds", () => {
    const { budget, made } = hold();
    made.cover(20);
    expect(budget.held).toBe(60);
    made.cover(250);
    expect(budget.held).toBe(250);
    expect(() => made.cover(301)).toThrow("on this server");
    const other = budget.charge("b", 40);
    expect(() => made.cover(280)).toThrow("on this server");
    other.release();
    made.release();
    made.cover(200);
    expect(budget.held, "what is over holds nothing").toBe(0);
  });
});

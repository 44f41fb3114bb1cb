import { SheafError } from "./errors.ts";
import { describe, expect, it } from "vitest";
import { ByteBudget } from "./byte-budget.ts";

const OPTIONS = { what: "request bodies", perTenant: 100, whole: 250, retryAfterSeconds: 2 };

function refusal(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    if (error instanceof SheafError) return [error.status, error.retryAfterSeconds];
    throw error;
  }
  return null;
}

describe("ByteBudget", () => {
  it("lets one lease of a tenant grow past the tenant's share, but never past the whole", () => {
    const budget = new ByteBudget(OPTIONS);
    const lease = budget.charge("a", 120);
    lease.grow(130);
    expect(refusal(() => lease.grow(1))).toEqual([503, 2]);
    expect([lease.bytes, budget.held]).toEqual([250, 250]);
  });

  it("refuses a tenant's second lease over its share with 429, while another tenant is served", () => {
    const budget = new ByteBudget(OPTIONS);
    const first = budget.charge("a", 60);
    const second = budget.charge("a", 40);
    expect(refusal(() => second.grow(1))).toEqual([429, 2]);
    expect(refusal(() => first.grow(1))).toEqual([429, 2]);
    expect(refusal(() => budget.charge("a", 1))).toEqual([429, 2]);
    expect(budget.charge("b", 100).bytes).toBe(100);
    expect(budget.held).toBe(200);
    second.release();
    first.grow(90);
    expect(first.bytes).toBe(150);
    expect(refusal(() => budget.charge("c", 5))).toEqual([503, 2]);
  });

  it("has an eighth more for tenants that hold little, while large ones hold the whole", () => {
    const budget = new ByteBudget({ ...OPTIONS, whole: 640 });
    budget.charge("a", 640);
    expect(refusal(() => budget.charge("b", 11))).toEqual([503, 2]);
    const small = budget.charge("b", 6);
    expect(refusal(() => small.grow(5))).toEqual([503, 2]);
    small.grow(4);
    for (let i = 0; i < 7; i++) budget.charge(`c${i}`, 10);
    expect(refusal(() => budget.charge("d", 1))).toEqual([503, 2]);
    expect(budget.held).toBe(720);
  });

  it("gives back what is released, once, and what is shrunk", () => {
    const budget = new ByteBudget(OPTIONS);
    const lease = budget.charge("a", 100);
    lease.shrink(30);
    expect(budget.held).toBe(70);
    lease.release();
    lease.release();
    lease.grow(50);
    expect([lease.bytes, budget.held]).toEqual([0, 0]);
    expect(budget.charge("a", 250).bytes).toBe(250);
  });

  it("counts a lease of nothing as nothing", () => {
    const budget = new ByteBudget(OPTIONS);
    budget.charge("a", 0);
    expect(budget.charge("a", 200).bytes).toBe(200);
  });
});

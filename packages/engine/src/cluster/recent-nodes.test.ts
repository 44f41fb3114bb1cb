import { describe, expect, it } from "vitest";
import type { KnownNode } from "../storage/postgres/postgres-node-table.ts";
import { RecentNodes } from "./recent-nodes.ts";

const A: KnownNode = { url: "10.0.0.1:7000", role: "search" };
const B: KnownNode = { url: "10.0.0.2:7000", role: "search" };
const C: KnownNode = { url: "10.0.0.3:7000", role: "embed" };

describe("recent nodes", () => {
  it("are those that the database has heard of lately", () => {
    let now = 0;
    const recent = new RecentNodes(() => now);
    expect(recent.after([A, B])).toEqual([A, B]);
    now += 1_000;
    expect(recent.after([B, C])).toEqual([B, C]);
  });

  it("stay for a while where nobody could look, and leave then if they say nothing", () => {
    let now = 0;
    const recent = new RecentNodes(() => now);
    recent.after([A, B]);
    now += 40_000;
    expect(recent.after([])).toEqual([A, B]);
    now += 1_000;
    expect(recent.after([B, C])).toEqual([B, C, A]);
    for (let i = 0; i < 13; i++) {
      now += 1_000;
      expect(recent.after([B, C])).toContain(A);
    }
    now += 1_000;
    expect(recent.after([B, C])).toEqual([B, C]);
  });

  it("have the role that they say they have now", () => {
    let now = 0;
    const recent = new RecentNodes(() => now);
    recent.after([A]);
    now += 40_000;
    expect(recent.after([{ ...A, role: "embed" }])).toEqual([{ ...A, role: "embed" }]);
  });
});

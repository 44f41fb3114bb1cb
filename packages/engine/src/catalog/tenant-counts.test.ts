import { describe, expect, it } from "vitest";
import { TenantCounts } from "./tenant-counts.ts";

const full = "Quota exceeded: the limit of this tenant is 2 collections";

function counted(): { readonly counts: TenantCounts; counted: number; room(next: number): Promise<void> } {
  const counts = new TenantCounts({ databases: 2, collections: 2, keys: 0 });
  const state = {
    counts,
    counted: 0,
    room: (next: number) => counts.requireCollection("t", next, async () => [1, (state.counted += 1)][0]!),
  };
  return state;
}

describe("counts of tenants", () => {
  it("are named in the singular where one is the most", async () => {
    const counts = new TenantCounts({ databases: 1, collections: 1, keys: 0 });
    await expect(counts.requireDatabase(async () => 1)).rejects.toThrow(/ is 1 database$/u);
  });

  it("are counted once, and follow what is changed", async () => {
    const state = counted();
    const change = (more: number): Promise<void> =>
      state.counts.change(async () => state.counts.add("t", more));
    await state.room(5);
    await change(1);
    await expect(state.room(6)).rejects.toThrow(full);
    await change(-1);
    await state.room(6);
    expect(state.counted).toBe(1);
  });

  it("are counted anew after a transaction that changed them and failed, and after no other", async () => {
    const state = counted();
    await state.room(5);
    const fail = (action: () => void): Promise<void> =>
      state.counts.change(async () => {
        action();
        throw new Error("the disk is full");
      });
    await expect(fail(() => {})).rejects.toThrow("full");
    await state.room(5);
    expect(state.counted).toBe(1);
    await expect(fail(() => state.counts.add("t", 1))).rejects.toThrow("full");
    await state.room(5);
    expect(state.counted).toBe(2);
  });

  it("are counted anew where another server has made a collection", async () => {
    const state = counted();
    await state.room(5);
    await state.room(6);
    expect(state.counted).toBe(2);
  });

  it("of databases are counted each time", async () => {
    const { counts } = counted();
    await counts.requireDatabase(async () => 1);
    await expect(counts.requireDatabase(async () => 2)).rejects.toThrow("2 databases");
  });
});

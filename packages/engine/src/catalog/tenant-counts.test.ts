import { describe, expect, it } from "vitest";
import { TenantCounts } from "./tenant-counts.ts";

const full = "Quota exceeded: the limit of this tenant is 2 databases";

describe("counts of tenants", () => {
  it("are counted once, and follow what is changed", async () => {
    const counts = new TenantCounts({ databases: 2, collections: 0 });
    let counted = 0;
    const room = (): void => counts.requireRoom("databases", "t", () => [1, (counted += 1)][0]!);
    const change = (more: number): Promise<void> =>
      counts.change(
        () => counts.add("databases", "t", more),
        async (work) => work(),
      );
    room();
    await change(1);
    expect(room).toThrow(full);
    await change(-1);
    room();
    expect(counted).toBe(1);
  });

  it("are counted anew after a transaction that changed them and failed, and after no other", async () => {
    const counts = new TenantCounts({ databases: 2, collections: 0 });
    let counted = 0;
    const room = (): void => counts.requireRoom("databases", "t", () => [1, (counted += 1)][0]!);
    room();
    const fail = (action: () => void): Promise<void> =>
      counts.change(action, async (work) => {
        work();
        throw new Error("the disk is full");
      });
    await expect(fail(() => {})).rejects.toThrow("full");
    room();
    expect(counted).toBe(1);
    await expect(fail(() => counts.add("databases", "t", 1))).rejects.toThrow("full");
    room();
    expect(counted).toBe(2);
  });
});

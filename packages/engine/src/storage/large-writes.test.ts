import { describe, expect, it } from "vitest";
import { LargeWrites } from "./large-writes.ts";

describe("LargeWrites", () => {
  it("lets one in at a time, owners in turn", async () => {
    const writes = new LargeWrites();
    const order: string[] = [];
    let inside = 0;
    const write = async (owner: string): Promise<void> => {
      const leave = await writes.enter(owner);
      order.push(owner);
      expect(++inside).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inside--;
      leave();
    };
    await Promise.all(["a", "a", "a", "b", "b"].map(write));
    expect(order).toEqual(["a", "a", "b", "a", "b"]);
    await write("c");
    expect(order.at(-1)).toBe("c");
  });
});

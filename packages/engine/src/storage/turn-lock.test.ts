import { describe, expect, it } from "vitest";
import { TurnLock } from "./turn-lock.ts";

describe("TurnLock", () => {
  it("lets one in at a time, owners in turn", async () => {
    const writes = new TurnLock();
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

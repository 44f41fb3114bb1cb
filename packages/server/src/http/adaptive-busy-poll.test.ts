import { describe, expect, it } from "vitest";
import { AdaptiveBusyPoll } from "./adaptive-busy-poll.ts";

/** A caller on a clock that only these functions move, in milliseconds. */
function callerOf() {
  let now = 0;
  const expected: number[] = [];
  const caller = new AdaptiveBusyPoll(
    () => void expected.push(now),
    () => now,
  );
  return {
    caller,
    expected,
    /** A request that takes 1 ms, so long after the last one. */
    ask: (after: number, kind: string | null = "get"): void => {
      now += after;
      caller.begin(kind);
      now += 1;
      caller.end();
    },
  };
}

describe("AdaptiveBusyPoll", () => {
  it("expects calls once there were eight requests one at a time, whenever they came", () => {
    const { expected, ask } = callerOf();
    for (let i = 0; i < 8; i++) ask(1_000);
    expect(expected).toHaveLength(0);
    ask(1_000);
    expect(expected).toHaveLength(1);
    ask(1_000, null);
    expect(expected).toHaveLength(1);
  });

  it("expects none for eight more requests once two were under way at a time", () => {
    const { caller, expected, ask } = callerOf();
    for (let i = 0; i < 9; i++) ask(0.1);
    expect(expected).toHaveLength(1);
    caller.begin("get");
    caller.begin("get");
    caller.end();
    caller.end();
    expected.length = 0;
    for (let i = 0; i < 8; i++) ask(0.1);
    expect(expected).toHaveLength(0);
    ask(0.1);
    expect(expected).toHaveLength(1);
  });

  it("waits awake for the next request of a caller that asks promptly, a late one now and then included", () => {
    const { caller, ask } = callerOf();
    for (let i = 0; i < 9; i++) ask(50);
    expect(caller.isPrompt).toBe(false);
    for (let i = 0; i < 9; i++) ask(0.1);
    expect(caller.isPrompt).toBe(true);
    for (let i = 0; i < 20; i++) ask(0.1);
    ask(50);
    ask(0.1);
    expect(caller.isPrompt).toBe(true);
    for (let i = 0; i < 3; i++) ask(50);
    expect(caller.isPrompt).toBe(false);
  });
});

import { Cancellation, SheafError } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { FairTurns } from "./fair-turns.ts";

/** Work that ends when it is told to, and says when it begins. */
function makeWork(turns: FairTurns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, signal = new Cancellation()): Promise<void> =>
    turns.run({ tenant: name.charAt(0), age: Number(name.slice(1)) }, signal, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { begun, run, end };
}

describe("FairTurns", () => {
  it("lets tenants take turns, each with what is oldest", async () => {
    const { begun, run, end } = makeWork(new FairTurns(2));
    const all = ["a1", "a2", "a4", "a3", "b1", "b2", "c1"].map((name) => run(name));
    const order = ["a1", "a2", "a3", "b1", "c1", "a4", "b2"];
    for (let i = 0; i < order.length; i++) {
      expect(begun).toEqual(order.slice(0, i + 2));
      await end(order[i]!);
    }
    await Promise.all(all);
  });

  it("leaves out what is aborted while it waits, and goes on after what fails", async () => {
    const turns = new FairTurns(1);
    const { begun, run, end } = makeWork(turns);
    const first = run("a1");
    const signal = new Cancellation();
    const left = run("b1", signal);
    const last = run("c1");
    signal.abort(new SheafError("timeout", "late"));
    await expect(left).rejects.toMatchObject({ code: "timeout" });
    await end("a1");
    await first;
    expect(begun).toEqual(["a1", "c1"]);
    await end("c1");
    await last;
    const failing = turns.run({ tenant: "d", age: 0 }, new Cancellation(), () =>
      Promise.reject(new Error("no")),
    );
    await expect(failing).rejects.toThrow("no");
    expect(await turns.run({ tenant: "d", age: 0 }, new Cancellation(), () => Promise.resolve(7))).toBe(7);
  });
});

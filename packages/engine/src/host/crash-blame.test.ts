import { describe, expect, it } from "vitest";
import { CrashBlame } from "./crash-blame.ts";

/** A call that stays in flight until it is ended. */
function hold(
  blame: CrashBlame,
  id: string,
): { readonly started: Promise<void>; readonly end: () => void; readonly done: Promise<void> } {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  let begin = (): void => {};
  const started = new Promise<void>((resolve) => (begin = resolve));
  const done = blame.run(id, undefined, () => {
    begin();
    return ended;
  });
  return { started, end: () => end(), done };
}

const answer = async (): Promise<string> => "answer";

describe("crash blame", () => {
  it("takes the collection in flight at a second crash out of service", async () => {
    const blame = new CrashBlame();
    const first = hold(blame, "bad");
    await first.started;
    expect(blame.died("SIGSEGV")).toEqual([]);
    first.end();
    await first.done;
    blame.judge([]);
    const second = hold(blame, "bad");
    await second.started;
    expect(blame.died("SIGBUS")).toEqual(["bad"]);
    second.end();
    await second.done;
    await expect(blame.run("bad", undefined, answer)).rejects.toMatchObject({
      code: "collection_unavailable",
      message: expect.stringContaining("sheaf doctor"),
    });
    await expect(blame.run("good", undefined, answer)).resolves.toBe("answer");
  });

  it("takes a damaged suspect out of service at once, and trusts the others", async () => {
    const blame = new CrashBlame();
    const held = ["a", "bad"].map((id) => hold(blame, id));
    await Promise.all(held.map(({ started }) => started));
    blame.died("SIGSEGV");
    for (const { end } of held) end();
    await Promise.all(held.map(({ done }) => done));
    const waiting = ["a", "bad"].map((id) => blame.run(id, undefined, answer));
    const judged = Promise.allSettled(waiting);
    await expect(blame.run("other", undefined, answer)).resolves.toBe("answer");
    blame.judge([{ id: "bad", reason: "page 7 is gone" }]);
    expect(await judged).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "collection_unavailable", message: "page 7 is gone" } },
    ]);
    expect(blame.suspects).toEqual([]);
    expect(blame.outOfService).toEqual([{ id: "bad", reason: "page 7 is gone" }]);
  });

  it("suspects what the host said it was reading, until it said that it was done", async () => {
    const blame = new CrashBlame();
    blame.touch("read", true);
    blame.touch("done", true);
    blame.touch("done", false);
    blame.died("SIGBUS");
    expect(blame.suspects).toEqual(["read"]);
    blame.judge([]);
    expect(blame.died("SIGBUS")).toEqual([]);
  });

  it.each(["SIGKILL", "SIGTERM", null] as const)("never counts an end by %s", async (signal) => {
    const blame = new CrashBlame();
    const held = hold(blame, "c");
    await held.started;
    expect([blame.died(signal), blame.died(signal), blame.died(signal)]).toEqual([[], [], []]);
    expect(blame.suspects).toEqual([]);
    held.end();
    await held.done;
  });

  it("runs the calls of suspects one at a time, so that a second crash finds the guilty one", async () => {
    const blame = new CrashBlame();
    const held = ["a", "bad", "b"].map((id) => hold(blame, id));
    await Promise.all(held.map(({ started }) => started));
    blame.died("SIGABRT");
    for (const { end } of held) end();
    await Promise.all(held.map(({ done }) => done));
    expect(blame.suspects).toEqual(["a", "bad", "b"]);
    blame.judge([]);

    const [a, bad, b] = ["a", "bad", "b"].map((id) => hold(blame, id)) as [
      ReturnType<typeof hold>,
      ReturnType<typeof hold>,
      ReturnType<typeof hold>,
    ];
    await a.started;
    a.end();
    await bad.started;
    expect(blame.died("SIGSEGV")).toEqual(["bad"]);
    blame.judge([]);
    bad.end();
    await b.started;
    b.end();
    await Promise.all([a.done, bad.done, b.done]);
    expect(blame.suspects).toEqual(["a", "b"]);
  });

  it("trusts a suspect again after a while", async () => {
    let now = 0;
    const blame = new CrashBlame(() => now);
    const held = hold(blame, "c");
    await held.started;
    blame.died("SIGSEGV");
    now = 10 * 60_000;
    expect(blame.died("SIGSEGV")).toEqual([]);
    held.end();
    await held.done;
  });
});

import { afterEach, describe, expect, it, vi } from "vitest";
import { IndexProgress } from "./index-progress.ts";

function progress(checkpointed = Promise.resolve()): {
  readonly progress: IndexProgress;
  readonly events: string[];
} {
  const events: string[] = [];
  const made = new IndexProgress(0, {
    marksFirst: false,
    mark: async () => void events.push("mark"),
    checkpoint: async (position, complete) => {
      events.push(`checkpoint ${position}${complete ? " complete" : ""}`);
      await checkpointed;
    },
    onProblem: (error) => events.push(String(error)),
  });
  return { progress: made, events };
}

describe("the mark of a collection with writes that are not checkpointed", () => {
  it("is set once, beside the first of them", async () => {
    const { progress: tracked, events } = progress();
    await Promise.all([tracked.track(async () => 1), tracked.track(async () => 2)]);
    expect(events).toEqual(["mark"]);
    await tracked.close();
    expect(events).toEqual(["mark", "checkpoint 2 complete"]);
  });

  it("takes no commit of its own where a first write has set it", async () => {
    const { progress: tracked, events } = progress();
    const write = async (): Promise<number> => {
      tracked.marked();
      return 1;
    };
    await tracked.track(write, true);
    await tracked.track(async () => 2);
    expect(events).toEqual([]);
    await tracked.close();
    expect(events).toEqual(["checkpoint 2 complete"]);
  });

  it("is set after a first write that has not, before that resolves", async () => {
    const { progress: tracked, events } = progress();
    await tracked.track(async () => {
      expect(events).toEqual([]);
      return 1;
    }, true);
    expect(events).toEqual(["mark"]);
    await tracked.close();
  });

  it("is not set for a first write that failed", async () => {
    const { progress: tracked, events } = progress();
    await expect(tracked.track(async () => Promise.reject(new Error("full")), true)).rejects.toThrow("full");
    expect(events).toEqual([]);
    await tracked.close();
  });
});

describe("a checkpoint", () => {
  afterEach(() => void vi.useRealTimers());

  it("comes one to two ticks after the write, with those of other collections", async () => {
    vi.useFakeTimers();
    await vi.advanceTimersByTimeAsync(1_000 - (performance.now() % 1_000) + 5);
    const [one, other] = [progress(), progress()];
    await one.progress.track(async () => 1);
    await vi.advanceTimersByTimeAsync(30);
    await other.progress.track(async () => 1);
    const done = ["mark", "checkpoint 1 complete"];
    await vi.advanceTimersByTimeAsync(400);
    expect([one.events, other.events]).toEqual([["mark"], ["mark"]]);
    for (let waited = 0; one.events.length < 2 && waited < 370; waited++)
      await vi.advanceTimersByTimeAsync(1);
    expect([one.events, other.events]).toEqual([done, done]);
  });
});

describe("checkpoints that fail", () => {
  afterEach(() => void vi.useRealTimers());

  it("are tried again, and reported once", async () => {
    vi.useFakeTimers();
    const failed = Promise.reject<void>(new Error("full"));
    failed.catch(() => undefined);
    const { progress: tracked, events } = progress(failed);
    await tracked.track(async () => 1);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(events.filter((event) => event.startsWith("checkpoint")).length).toBeGreaterThan(2);
    expect(events.filter((event) => event.includes("full"))).toEqual(["Error: full"]);
    await tracked.close();
  });
});

describe("closing", () => {
  afterEach(() => void vi.useRealTimers());

  it("ends the ticks, of which one was under way beside a write that changed nothing", async () => {
    vi.useFakeTimers();
    const checkpointed = delayed();
    const written = delayed();
    const { progress: tracked, events } = progress(checkpointed.promise);
    await tracked.track(async () => 1);
    const writing = tracked.track(() => written.promise.then(() => 1));
    await vi.advanceTimersByTimeAsync(1000);
    expect(events).toEqual(["mark", "checkpoint 1"]);
    written.resolve();
    await writing;
    const closing = tracked.close();
    checkpointed.resolve();
    await closing;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(events).toEqual(["mark", "checkpoint 1", "checkpoint 1 complete"]);
  });
});

function delayed(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

import { SheafError } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BatchRunner, Scheduler } from "./scheduler.ts";

/** Answers a text with its first id; each batch waits until the test lets it go. */
class StepRunner implements BatchRunner<number> {
  readonly ready: boolean;
  readonly batches: (readonly Int32Array[])[] = [];
  #release: ((error: Error | null) => void) | null = null;

  constructor(ready = true) {
    this.ready = ready;
  }

  run(batch: readonly Int32Array[]): Promise<readonly number[]> {
    this.batches.push(batch);
    return new Promise((resolve, reject) => {
      this.#release = (error) => {
        if (error === null) resolve(batch.map((ids) => ids[0] ?? -1));
        else reject(error);
      };
    });
  }

  get busy(): boolean {
    return this.#release !== null;
  }

  /** Ends the batch under way and lets everything that follows from it happen. */
  async step(error: Error | null = null): Promise<void> {
    const release = this.#release;
    this.#release = null;
    release?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async drain(): Promise<void> {
    while (this.busy) await this.step();
  }
}

function text(mark: number, length = 10): Int32Array {
  return new Int32Array(length).fill(mark);
}

function texts(count: number, mark: number, length = 10): Int32Array[] {
  return Array.from({ length: count }, () => text(mark, length));
}

function scheduler(
  runners: readonly BatchRunner<number>[],
  bounds: { batchTokens?: number; queuedTokens?: number } = {},
): Scheduler<number> {
  return new Scheduler({ name: "a model", runners, batchTokens: 20, queuedTokens: 1_000, ...bounds });
}

function outcome(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error);
}

describe("Scheduler", () => {
  it("runs the batches of an exchanged policy, and reports each with its lengths", async () => {
    const runner = new StepRunner();
    const lengths: (readonly number[])[] = [];
    const model = new Scheduler({
      name: "a model",
      runners: [runner],
      batchTokens: 20,
      queuedTokens: 1_000,
      policy: () => [0],
      onBatch: (batch) => lengths.push(batch.lengths),
    });
    const work = model.submit([text(1, 5), text(2, 7), text(3, 5)]);
    await runner.drain();
    expect(await work).toEqual([1, 2, 3]);
    expect(lengths).toEqual([[5], [7], [5]]);
  });

  it("starts a batch at once and puts results back in the order of the texts", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 }), {
          minLength: 1,
          maxLength: 6,
        }),
        fc.integer({ min: 1, max: 3 }),
        async (requests, runnerCount) => {
          const runners = Array.from({ length: runnerCount }, () => new StepRunner());
          const model = scheduler(runners, { queuedTokens: 1_000_000, batchTokens: 128 });
          const work = requests.map((lengths, request) =>
            model.submit(lengths.map((length, index) => text(request * 1_000 + index, length))),
          );
          expect(runners[0]?.busy).toBe(true);
          while (runners.some((runner) => runner.busy)) for (const runner of runners) await runner.step();
          expect(await Promise.all(work)).toEqual(
            requests.map((lengths, request) => lengths.map((_, index) => request * 1_000 + index)),
          );
          expect(model.queuedTokens).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("answers no texts at once", async () => {
    expect(await scheduler([new StepRunner()]).submit([])).toEqual([]);
  });

  it("lets a query pass a large ingest, and the ingest goes on beside queries", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 10, queuedTokens: 100_000 });
    const ingest = model.submit(texts(40, 1));
    const queries = Array.from({ length: 40 }, () => model.submit([text(2)]));
    await runner.drain();
    await Promise.all([ingest, ...queries]);
    const order = runner.batches.map((batch) => batch[0]?.[0]);
    expect(order.indexOf(2)).toBeLessThanOrEqual(2);
    const whileBoth = order.slice(0, 40);
    expect(whileBoth.filter((mark) => mark === 1).length).toBeGreaterThanOrEqual(6);
    expect(whileBoth.filter((mark) => mark === 2).length).toBeGreaterThanOrEqual(30);
  });

  it("serves the requests of an owner in turn, and the owner no more often for having several", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 10, queuedTokens: 100_000 });
    const large = model.submit(texts(60, 1), { owner: "own" });
    const other = model.submit(texts(60, 3), { owner: "other" });
    for (let i = 0; i < 10; i++) await runner.step();
    const small = model.submit(texts(8, 2), { owner: "own" });
    const next = model.submit(texts(5, 4), { owner: "own" });
    await runner.drain();
    await Promise.all([large, other, small, next]);
    const order = runner.batches.map((batch) => batch[0]?.[0]);
    const since = order.slice(11);
    // Three requests and another owner beside them: the small ones have about every sixth text each.
    expect(since.lastIndexOf(4)).toBeLessThanOrEqual(6 * 5 + 6);
    expect(since.lastIndexOf(2)).toBeLessThanOrEqual(6 * 8 + 6);
    const whileBoth = since.slice(0, 80);
    expect(whileBoth.filter((mark) => mark === 3).length).toBeGreaterThanOrEqual(38);
    expect(whileBoth.filter((mark) => mark === 3).length).toBeLessThanOrEqual(42);
  });

  it("serves requests one after the other where very many texts wait", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 2_000, queuedTokens: 1_000_000 });
    const work = [model.submit(texts(12_000, 1)), model.submit(texts(5, 2)), model.submit(texts(5, 3))];
    await runner.drain();
    await Promise.all(work);
    const order = runner.batches.flatMap((batch) => batch.map(([mark]) => mark));
    expect(order.indexOf(2)).toBe(12_000);
    expect(order.indexOf(3)).toBe(12_005);
  });

  it("charges an owner for texts that ran ahead of their turns, however often it comes again", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 40, queuedTokens: 1_000_000 });
    const work = [
      model.submit(texts(200, 1), { owner: "often" }),
      model.submit(texts(200, 2), { owner: "once" }),
    ];
    for (let i = 0; i < 40; i++) {
      work.push(model.submit(texts(5, 3), { owner: "often" }));
      await runner.step();
    }
    const marks = runner.batches.slice(0, 40).flatMap((batch) => batch.map(([mark]) => mark));
    const once = marks.filter((mark) => mark === 2).length;
    expect(once).toBeGreaterThanOrEqual(marks.length * 0.4);
    expect(once).toBeLessThanOrEqual(marks.length * 0.6);
    await runner.drain();
    await Promise.all(work);
    expect(model.queuedTokens).toBe(0);
  });

  it.each([
    ["queries", 1],
    ["ingests", 8],
  ])("serves owners in turn, however many %s one has sent", async (_kind, count) => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 10, queuedTokens: 100_000 });
    const many = Array.from({ length: 40 }, () => model.submit(texts(count, 1), { owner: "many" }));
    for (let i = 0; i < 5; i++) await runner.step();
    const one = model.submit(texts(count, 2), { owner: "one" });
    const other = model.submit(texts(count, 3), { owner: "other" });
    await runner.drain();
    await Promise.all([...many, one, other]);
    const order = runner.batches.map((batch) => batch[0]?.[0]).slice(6);
    expect(order.slice(0, 2 * count).filter((mark) => mark === 2).length).toBeGreaterThanOrEqual(count / 2);
    expect(order.lastIndexOf(2)).toBeLessThanOrEqual(3 * count);
    expect(order.lastIndexOf(3)).toBeLessThanOrEqual(3 * count);
  });

  it("runs small batches while another owner may come", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 1_000, queuedTokens: 100_000 });
    const many = model.submit(texts(40, 1, 100), { owner: "many" });
    await runner.step();
    const one = model.submit([text(2, 100)], { owner: "one" });
    await runner.drain();
    await Promise.all([many, one]);
    const sizes = runner.batches.map((batch) => batch.length);
    expect(sizes.slice(0, 2)).toEqual([10, 10]);
    expect(Math.max(...sizes.slice(2))).toBe(2);
  });

  it("lets an owner whose request was aborted pay nothing for it", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 10, queuedTokens: 100_000 });
    const many = model.submit(texts(40, 1), { owner: "many" });
    const controller = new AbortController();
    const aborted = outcome(model.submit(texts(30, 2), { owner: "one", signal: controller.signal }));
    controller.abort();
    await aborted;
    const next = model.submit(texts(5, 3), { owner: "one" });
    await runner.drain();
    await Promise.all([many, next]);
    expect(runner.batches.map((batch) => batch[0]?.[0]).lastIndexOf(3)).toBeLessThanOrEqual(11);
  });

  it("takes from one owner what another's full queue does not hold", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { queuedTokens: 100 });
    const many = model.submit(texts(12, 1), { owner: "many" });
    expect(await outcome(model.submit(texts(5, 1), { owner: "many" }))).toMatchObject({
      code: "rate_limited",
    });
    const one = model.submit(texts(5, 2), { owner: "one" });
    await runner.drain();
    await Promise.all([many, one]);
  });

  it("does not make an ingest pay for the time before it came", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { batchTokens: 10, queuedTokens: 100_000 });
    const earlier = model.submit(texts(50, 1));
    await runner.drain();
    await earlier;
    const queries = Array.from({ length: 30 }, () => model.submit([text(2)]));
    const ingest = model.submit(texts(30, 3));
    await runner.drain();
    await Promise.all([...queries, ingest]);
    const order = runner.batches.slice(50).map((batch) => batch[0]?.[0]);
    expect(order.slice(0, 12)).toContain(3);
  });

  it("drops the waiting texts of an aborted request, and nobody else's", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner]);
    const controller = new AbortController();
    const first = model.submit([text(1), text(1)]);
    const aborted = outcome(model.submit(texts(30, 2), { signal: controller.signal }));
    const last = model.submit(texts(5, 3));
    controller.abort();
    expect(await aborted).toMatchObject({ code: "cancelled" });
    expect(model.queuedTokens).toBe(50);
    await runner.drain();
    expect(await first).toEqual([1, 1]);
    expect(await last).toEqual([3, 3, 3, 3, 3]);
    expect(runner.batches.flat().some((ids) => ids[0] === 2)).toBe(false);
  });

  it("keeps the reason of an abort where it is one of ours, and takes nothing from an aborted caller", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner]);
    const timeout = new SheafError("timeout", "the request took too long");
    expect(await outcome(model.submit([text(1)], { signal: AbortSignal.abort(timeout) }))).toBe(timeout);
    expect(runner.busy).toBe(false);
  });

  it("counts texts under way as admitted and no longer waiting", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { queuedTokens: 100 });
    const running = model.submit([text(1), text(1)]);
    expect(model.queuedTokens).toBe(0);
    const whole = model.submit(texts(3, 2, 100));
    const refused = await outcome(model.submit([text(3, 1)]));
    expect(refused).toMatchObject({
      code: "rate_limited",
      status: 429,
      retryAfterSeconds: expect.any(Number),
    });
    await runner.drain();
    expect(await running).toEqual([1, 1]);
    expect(await whole).toEqual([2, 2, 2]);
  });

  it("refuses an ingest while ingests fill their lane, and still takes queries", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner], { queuedTokens: 100 });
    const first = model.submit(texts(12, 1));
    expect(await outcome(model.submit(texts(5, 2)))).toMatchObject({ code: "rate_limited" });
    const query = model.submit([text(3)]);
    await runner.drain();
    expect(await first).toHaveLength(12);
    expect(await query).toEqual([3]);
  });

  it("fails only the requests whose texts were in a failed batch", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner]);
    const lost = outcome(model.submit(texts(6, 1)));
    const kept = model.submit(texts(6, 2));
    await runner.step(new SheafError("unavailable", "the replica died", { retryAfterSeconds: 1 }));
    expect(await lost).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    await runner.drain();
    expect(await kept).toEqual([2, 2, 2, 2, 2, 2]);
    expect(runner.batches.flat().filter((ids) => ids[0] === 1)).toHaveLength(2);
    expect(model.queuedTokens).toBe(0);
  });

  it("prefers a loaded replica to one that must load first", async () => {
    const cold = new StepRunner(false);
    const warm = new StepRunner();
    const model = scheduler([cold, warm]);
    const work = model.submit([text(1)]);
    expect([cold.busy, warm.busy]).toEqual([false, true]);
    await warm.drain();
    expect(await work).toEqual([1]);
  });

  it("refuses what waits and what comes once it is closed", async () => {
    const runner = new StepRunner();
    const model = scheduler([runner]);
    const waiting = outcome(model.submit(texts(8, 1)));
    model.close();
    expect(await waiting).toMatchObject({ code: "unavailable" });
    expect(await outcome(model.submit([text(1)]))).toMatchObject({ code: "unavailable" });
    await runner.drain();
    expect(runner.batches).toHaveLength(1);
  });
});

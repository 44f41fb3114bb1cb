import { type CancelSignal, LIMITS, SheafError } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { DeadlineRegistry, RequestContext } from "./request-context.ts";

const SOON = { request: 0.02, bulk: 60 };
const LATE = { request: 60, bulk: 60 };

/** Work that ends by its signal only. */
function untilAborted(signal: CancelSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the work has noticed")), { once: true });
  });
}

describe("RequestContext", () => {
  it("gives the result of work that is done in time", async () => {
    const deadline = new RequestContext(LATE);
    expect(await deadline.run(() => Promise.resolve(7))).toBe(7);
    expect(await new RequestContext(LATE).run(() => 8)).toBe(8);
    expect(deadline.signal.aborted).toBe(false);
  });

  it("gives the error of work that fails, thrown or rejected", async () => {
    await expect(new RequestContext(LATE).run(() => Promise.reject(new Error("a")))).rejects.toThrow("a");
    const thrown = new RequestContext(LATE).run(() => {
      throw new Error("b");
    });
    await expect(thrown).rejects.toThrow("b");
  });

  it("cancels work that takes too long with 504", async () => {
    const deadline = new RequestContext(SOON);
    await expect(deadline.run(() => untilAborted(deadline.signal))).rejects.toMatchObject({
      code: "timeout",
    });
    expect(deadline.signal.aborted).toBe(true);
  });

  it("gives requests that embed many texts the longer time", async () => {
    const deadline = new RequestContext(SOON);
    const slow = (): Promise<string> =>
      new Promise((resolve) => setTimeout(() => resolve("done"), 3_000 * SOON.request));
    const result = deadline.run(() => {
      deadline.expectTexts(LIMITS.bulkTexts);
      deadline.expectTexts(1);
      return slow();
    });
    expect(await result).toBe("done");
  });

  it("keeps the shorter time at the bound", async () => {
    const deadline = new RequestContext(SOON);
    const result = deadline.run(() => {
      deadline.expectTexts(LIMITS.bulkTexts);
      return untilAborted(deadline.signal);
    });
    await expect(result).rejects.toMatchObject({ code: "timeout" });
  });

  it("does not begin work that is aborted already, and keeps the first reason", async () => {
    const deadline = new RequestContext(LATE);
    deadline.abort(new SheafError("cancelled", "left"));
    deadline.abort(new SheafError("unavailable", "down"));
    await expect(deadline.run(() => "never")).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("DeadlineRegistry", () => {
  it("ends everything in flight with one reason and says when all are answered", async () => {
    const registry = new DeadlineRegistry(LATE);
    await registry.idle();
    const deadlines = [registry.start(), registry.start()];
    const results = deadlines.map((deadline) => deadline.run(() => untilAborted(deadline.signal)));
    const outcomes = Promise.allSettled(results);
    const idle = registry.idle();
    registry.abortAll(new SheafError("unavailable", "down"));
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
    }
    for (const deadline of deadlines) registry.finish(deadline);
    await idle;
  });
});

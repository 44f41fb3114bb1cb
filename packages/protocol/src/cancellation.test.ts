import { describe, expect, it, vi } from "vitest";
import { Cancellation, type CancelSignal } from "./cancellation.ts";

/** What an `AbortController` does is the rule. */
describe.each<[string, () => { signal: CancelSignal; abort: (reason: unknown) => void }]>([
  [
    "a cancellation",
    () => {
      const signal = new Cancellation();
      return { signal, abort: (reason) => signal.abort(reason) };
    },
  ],
  [
    "an abort controller",
    () => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
    },
  ],
])("%s", (_name, make) => {
  it("keeps the first reason and calls each listener once, in order", () => {
    const { signal, abort } = make();
    const heard: string[] = [];
    const second = (): void => void heard.push(`second, ${String(signal.aborted)}`);
    signal.addEventListener("abort", () => heard.push(`first ${String(signal.reason)}`), { once: true });
    signal.addEventListener("abort", second, { once: true });
    signal.addEventListener("abort", second, { once: true });
    expect(signal.aborted).toBe(false);
    abort("one");
    abort("two");
    expect(signal).toMatchObject({ aborted: true, reason: "one" });
    expect(heard).toEqual(["first one", "second, true"]);
  });

  it("calls no listener that was removed, before it or by one before it, nor one that comes later", () => {
    const { signal, abort } = make();
    const listener = vi.fn<() => void>();
    const removed = vi.fn<() => void>();
    signal.addEventListener("abort", listener, { once: true });
    signal.removeEventListener("abort", listener);
    signal.addEventListener("abort", () => signal.removeEventListener("abort", removed), { once: true });
    signal.addEventListener("abort", removed, { once: true });
    abort("now");
    signal.addEventListener("abort", listener, { once: true });
    expect(listener).not.toHaveBeenCalled();
    expect(removed).not.toHaveBeenCalled();
  });
});

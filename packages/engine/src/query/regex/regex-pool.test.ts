import { Cancellation, LIMITS, SheafError } from "@sheaf/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { RegexPool, type RegexPoolOptions, type TenantRegexes } from "./regex-pool.ts";

/** Takes minutes: a search in 20,000 states at a time. */
const SLOW = "(?:a{1,100}){1,20}b";
const LONG = Buffer.alloc(2_000_000, "a");

let open: RegexPool[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
});

function newPool(options: RegexPoolOptions = {}): RegexPool {
  const pool = new RegexPool(options);
  open.push(pool);
  return pool;
}

async function matches(
  regexes: TenantRegexes,
  pattern: string,
  text: Uint8Array,
  signal?: Cancellation,
): Promise<boolean> {
  await regexes.check(new Map([[pattern, "where"]]), signal);
  return regexes.run(signal, async (thread) => {
    const ends = Uint32Array.of(text.length);
    const [match] = await thread.ask({ type: "match", pattern, text: Uint8Array.from(text), ends }, []);
    return match === 1;
  });
}

function fast(regexes: TenantRegexes): Promise<boolean> {
  return matches(regexes, "f.x", Buffer.from("a fox"));
}

describe("RegexPool", () => {
  it("ends a thread with its request, and only that request", async () => {
    const pool = newPool({ threads: 2, threadsPerTenant: 1 });
    const signal = new Cancellation();
    await pool.forTenant("hostile").check(new Map([[SLOW, "where"]]), signal);
    const slow = matches(pool.forTenant("hostile"), SLOW, LONG, signal);
    const failed = slow.catch((error: unknown) => error);
    for (let i = 0; i < 5; i++) expect(await fast(pool.forTenant("other"))).toBe(true);
    signal.abort(new SheafError("timeout", "too long"));
    expect(await failed).toMatchObject({ code: "timeout" });
    // The tenant's only thread had to be ended first.
    expect(await fast(pool.forTenant("hostile"))).toBe(true);
    expect(pool.endedThreads).toBe(1);
  });

  it("keeps a thread whose request left a moment before it was done", async () => {
    const pool = newPool({ threads: 1 });
    const regexes = pool.forTenant("t");
    expect(await fast(regexes)).toBe(true);
    const signal = new Cancellation();
    const left = matches(regexes, "f.x", Buffer.alloc(1_000, "f"), signal);
    const failed = left.catch((error: unknown) => error);
    await Promise.resolve();
    signal.abort("the caller has left");
    expect(await failed).toMatchObject({ code: "cancelled" });
    expect(await fast(regexes)).toBe(true);
    expect(pool.endedThreads).toBe(0);
  });

  it("lets a request leave the queue", async () => {
    const pool = newPool({ threads: 1, threadsPerTenant: 1 });
    const [ending, leaving] = [new Cancellation(), new Cancellation()];
    const slow = matches(pool.forTenant("a"), SLOW, LONG, ending);
    const waiting = matches(pool.forTenant("b"), "f.x", LONG, leaving);
    expect(pool.waiting).toBe(1);
    leaving.abort("left");
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    expect(pool.waiting).toBe(0);
    ending.abort("left");
    await expect(slow).rejects.toMatchObject({ code: "cancelled" });
    await expect(matches(pool.forTenant("b"), "f.x", LONG, leaving)).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  it("takes turns by tenant, whoever asked first", async () => {
    const pool = newPool({ threads: 1, threadsPerTenant: 1 });
    const [many, few] = [pool.forTenant("many"), pool.forTenant("few")];
    const order: string[] = [];
    let release = (): void => {};
    const held = many.run(undefined, () => new Promise<void>((resolve) => (release = resolve)));
    const ask = (regexes: TenantRegexes, name: string): Promise<void> =>
      regexes.run(undefined, async () => void order.push(name));
    const asked = ["m1", "m2", "m3"].map((name) => ask(many, name));
    asked.push(...["f1", "f2"].map((name) => ask(few, name)));
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(order).toEqual([]);
    release();
    await Promise.all([held, ...asked]);
    expect(order).toEqual(["m1", "f1", "m2", "f2", "m3"]);
  });

  it("bounds a tenant's share of threads and of the queue", async () => {
    const pool = newPool({ threads: 3, threadsPerTenant: 2 });
    const [greedy, other] = [pool.forTenant("greedy"), pool.forTenant("other")];
    const releases: (() => void)[] = [];
    const hold = (): Promise<void> =>
      greedy.run(undefined, () => new Promise<void>((resolve) => void releases.push(resolve)));
    const held = Array.from({ length: 2 + LIMITS.queuedRegexRequests }, hold);
    await expect(hold()).rejects.toMatchObject({ status: 429, retryAfterSeconds: 1 });
    expect(releases).toHaveLength(2);
    expect(await fast(other)).toBe(true);
    while (releases.length > 0) {
      releases.shift()!();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await Promise.all(held);
    expect(pool.waiting).toBe(0);
  });

  it("asks no thread about a pattern that is known", async () => {
    const pool = newPool({ threads: 1, threadsPerTenant: 1 });
    const regexes = pool.forTenant("t");
    const patterns = new Map([["abcd", "where"]]);
    const first = await regexes.check(patterns, undefined);
    await regexes.run(undefined, async () => {
      expect(await regexes.check(patterns, undefined)).toEqual(first);
    });
  });

  it("holds the memory of many large patterns together", async () => {
    const pool = newPool({ threads: 1, threadsPerTenant: 1 });
    const regexes = pool.forTenant("t");
    const large = new Map(Array.from({ length: 12 }, (_, i) => [`\\w{120}x{${i}}`, "where"]));
    const before = process.memoryUsage.rss();
    await regexes.check(large, undefined);
    for (const pattern of large.keys()) {
      expect(await matches(regexes, pattern, Buffer.from(`${"w".repeat(130)}${"x".repeat(30)}`))).toBe(true);
    }
    // 12 patterns take 360 MiB side by side.
    expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(250);
  });

  it("fails what runs and what comes when it is closed", async () => {
    const pool = newPool({ threads: 1, threadsPerTenant: 1 });
    const regexes = pool.forTenant("t");
    await regexes.check(new Map([SLOW, "f.x"].map((pattern) => [pattern, "where"])), undefined);
    const [slow, waiting] = [matches(regexes, SLOW, LONG), matches(regexes, "f.x", LONG)];
    const failed = Promise.allSettled([slow, waiting]);
    await vi.waitFor(() => expect(pool.waiting).toBe(1));
    await pool.close();
    expect(pool.waiting).toBe(0);
    for (const outcome of await failed) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
    }
    await expect(fast(regexes)).rejects.toMatchObject({ code: "unavailable" });
  });
});

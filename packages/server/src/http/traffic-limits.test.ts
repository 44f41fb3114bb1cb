import type { KeyLimits } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import type { Principal } from "../auth/principal.ts";
import { ActivityLedger } from "../auth/activity-ledger.ts";
import { type TrafficBounds, TrafficLimits } from "./traffic-limits.ts";

const OWN: KeyLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };

function caller(id = "key_1", limits: Partial<KeyLimits> = {}): Principal {
  return { id, tenant: "acme", database: null, scopes: new Set(), limits: { ...OWN, ...limits } };
}

function limits(bounds: Partial<TrafficBounds>, clock = { now: Date.parse("2030-01-01T12:00:00Z") }) {
  return new TrafficLimits(
    bounds,
    new ActivityLedger({ engine: null, now: () => clock.now, onProblem: () => {} }),
  );
}

describe("requests a minute", () => {
  it("are let in up to the bound and refused over it, each key by itself", async () => {
    const traffic = limits({ requestsPerMinute: 3 });
    for (const remaining of ["2", "1", "0"]) {
      const { refusal, headers } = await traffic.admit(caller(), "acme", "v2");
      expect(refusal).toBeNull();
      expect(headers).toMatchObject({
        "ratelimit-limit": "3",
        "ratelimit-remaining": remaining,
        "ratelimit-policy": '"requests";q=3;w=60',
        ratelimit: expect.stringMatching(`^"requests";r=${remaining};t=\\d+$`),
      });
    }
    const { refusal, headers } = await traffic.admit(caller(), "acme", "v2");
    expect(refusal).toMatchObject({ code: "rate_limited", status: 429 });
    expect(refusal?.retryAfterSeconds).toBeGreaterThan(0);
    expect(headers["ratelimit-remaining"]).toBe("0");
    expect((await traffic.admit(caller("key_2"), "acme", "v2")).refusal).toBeNull();
  });

  it("are the key's own where it has a bound, 0 being none", async () => {
    const traffic = limits({ requestsPerMinute: 1 });
    for (let i = 0; i < 5; i++) {
      const { refusal, headers } = await traffic.admit(caller("free", { requestsPerMinute: 0 }), null, "v2");
      expect([refusal, headers]).toEqual([null, {}]);
    }
    const strict = caller("strict", { requestsPerMinute: 2 });
    expect((await traffic.admit(strict, null, "v2")).refusal).toBeNull();
    expect((await traffic.admit(strict, null, "v2")).refusal).toBeNull();
    expect((await traffic.admit(strict, null, "v2")).refusal).not.toBeNull();
  });

  it("are never let in over the bound by arriving at once", async () => {
    const traffic = limits({ requestsPerMinute: 10 });
    const all = await Promise.all(
      Array.from({ length: 50 }, async () => traffic.admit(caller(), null, "v2")),
    );
    expect(all.filter(({ refusal }) => refusal === null)).toHaveLength(10);
  });
});

describe("requests at a time", () => {
  it("are bounded until one is over", async () => {
    const traffic = limits({ concurrentRequests: 2 });
    const first = await traffic.admit(caller(), null, "v2");
    const second = await traffic.admit(caller(), null, "v2");
    const third = await traffic.admit(caller(), null, "v2");
    expect([first.refusal, second.refusal]).toEqual([null, null]);
    expect(third.refusal).toMatchObject({ code: "rate_limited" });
    third.release();
    expect((await traffic.admit(caller(), null, "v2")).refusal).not.toBeNull();
    first.release();
    expect((await traffic.admit(caller(), null, "v2")).refusal).toBeNull();
  });
});

describe("tokens", () => {
  it("of a minute are counted up to the bound; a fresh minute takes any one request", async () => {
    const traffic = limits({ tokensPerMinute: 10 });
    const first = await traffic.admit(caller(), null, "v2");
    await first.admitTokens(6);
    await first.admitTokens(4);
    await expect(first.admitTokens(1)).rejects.toMatchObject({ code: "rate_limited" });
    const other = await traffic.admit(caller("key_2"), null, "v2");
    await other.admitTokens(1_000);
    await expect(other.admitTokens(1)).rejects.toMatchObject({ code: "rate_limited" });
  });

  it("of a tenant's day are a quota over all its keys, and begin again at midnight UTC", async () => {
    const clock = { now: Date.parse("2030-01-01T23:59:59Z") };
    const traffic = limits({ quotaTokensPerDay: 10 }, clock);
    const first = await traffic.admit(caller("key_1"), "acme", "v2");
    const second = await traffic.admit(caller("key_2"), "acme", "v2");
    const elsewhere = await traffic.admit(caller("key_3"), "other", "v2");
    await first.admitTokens(9);
    await second.admitTokens(1);
    await expect(second.admitTokens(1)).rejects.toMatchObject({
      code: "unprocessable",
      message: expect.stringMatching(/^Quota exceeded/),
      retryAfterSeconds: 1,
    });
    // The embedding contract declares no 422.
    clock.now -= 3_600_000;
    const embed = await traffic.admit(caller("key_2"), "acme", "embed");
    await expect(embed.admitTokens(1)).rejects.toMatchObject({
      code: "rate_limited",
      message: expect.stringMatching(/^Quota exceeded/),
      retryAfterSeconds: 3_601,
    });
    clock.now += 3_600_000;
    await elsewhere.admitTokens(10);
    clock.now += 1_000;
    await second.admitTokens(10);
  });

  it("of nobody's tenant are no quota", async () => {
    const admission = await limits({ quotaTokensPerDay: 1 }).admit(caller(), null, "v2");
    await expect(admission.admitTokens(100)).resolves.toBeUndefined();
  });
});

/**
 * How much one key may ask for: requests and tokens a minute, requests at a time, and tokens a day of its tenant. The
 * first is counted when a request arrives; tokens are counted once its texts are tokenized, before any model runs.
 * A minute begins with the first thing counted in it. What would go over is refused and not counted, except that a
 * fresh minute admits any one request, so that no request is impossible.
 */
import { type KeyLimits, SheafError } from "@sheaf/protocol";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import type { MaybePromise } from "../request/maybe-promise.ts";
import type { Principal } from "../auth/principal.ts";
import type { ActivityLedger } from "../auth/activity-ledger.ts";
import type { Surface } from "./route.ts";

/** 0: no bound. */
export interface TrafficBounds {
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly concurrentRequests: number;
  /** Of a tenant, over all its keys. */
  readonly quotaTokensPerDay: number;
}

/** One request that was counted. */
export interface Admission {
  /** For the reply, whatever it is. */
  readonly headers: Readonly<Record<string, string>>;
  /** `null`: it may go on. */
  readonly refusal: SheafError | null;
  /** Counts the tokens of its texts; throws 429, and where the tenant's day is used up 429 or, on v2 routes, 422. */
  admitTokens(count: number): Promise<void>;
  /** To be called once, when it is over. */
  release(): void;
}

interface Window {
  readonly name: "requests" | "tokens";
  readonly limit: number;
  /** Under which it is counted. */
  readonly bucket: string;
}

const KEY_BOUNDS: readonly (keyof KeyLimits)[] = [
  "requestsPerMinute",
  "tokensPerMinute",
  "concurrentRequests",
];
const WINDOW_SECONDS = 60;
const UNBOUNDED: TrafficBounds = Object.freeze({
  requestsPerMinute: 0,
  tokensPerMinute: 0,
  concurrentRequests: 0,
  quotaTokensPerDay: 0,
});

/** Of a request that nothing bounds: there is nothing to count. */
const FREE: Admission = Object.freeze({
  headers: {},
  refusal: null,
  admitTokens: () => Promise.resolve(),
  release: () => {},
});

export class TrafficLimits {
  readonly #bounds: TrafficBounds;
  readonly #ledger: ActivityLedger;
  /** Only counts; the bound is each key's own. */
  readonly #counter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });
  readonly #running = new Map<string, number>();

  constructor(bounds: Partial<TrafficBounds>, ledger: ActivityLedger) {
    this.#bounds = { ...UNBOUNDED, ...bounds };
    this.#ledger = ledger;
  }

  /** @param tenant Whose tokens the request spends; `null`: nobody's. */
  admit(principal: Principal, tenant: string | null, surface: Surface): MaybePromise<Admission> {
    return this.#isFree(principal) ? FREE : this.#count(principal, tenant, surface);
  }

  #isFree({ limits }: Principal): boolean {
    const bounds = this.#bounds;
    return (
      bounds.quotaTokensPerDay === 0 && KEY_BOUNDS.every((name) => (limits?.[name] ?? bounds[name]) === 0)
    );
  }

  async #count(principal: Principal, tenant: string | null, surface: Surface): Promise<Admission> {
    const windows = this.#windows(principal);
    const [requests, tokens] = windows;
    const counted = await this.#take(requests, 1);
    const atOnce = counted === "over" ? "not counted" : this.#enter(principal);
    return {
      headers: await this.#headers(windows),
      refusal:
        counted === "over"
          ? await this.#overRate(requests)
          : atOnce === "over"
            ? tooManyAtOnce(this.#mostAtOnce(principal))
            : null,
      admitTokens: async (count) => {
        if (count === 0) return;
        if ((await this.#take(tokens, count)) === "over") throw await this.#overRate(tokens);
        if (tenant !== null) await this.#spendQuota(tenant, count, surface);
      },
      release: () => {
        if (atOnce === "in") this.#leave(principal.id);
      },
    };
  }

  #windows({ id, limits }: Principal): readonly [Window, Window] {
    const own = (name: keyof KeyLimits): number => limits?.[name] ?? this.#bounds[name];
    return [
      { name: "requests", limit: own("requestsPerMinute"), bucket: `requests:${id}` },
      { name: "tokens", limit: own("tokensPerMinute"), bucket: `tokens:${id}` },
    ];
  }

  async #spendQuota(tenant: string, count: number, surface: Surface): Promise<void> {
    const { quotaTokensPerDay } = this.#bounds;
    if (quotaTokensPerDay === 0) return;
    const retryAfterSeconds = await this.#ledger.spendTokens(tenant, count, quotaTokensPerDay);
    if (retryAfterSeconds === 0) return;
    throw new SheafError(
      // Quotas are 422 to clients of the v2 routes; the embedding contract declares no 422.
      surface === "embed" ? "rate_limited" : "unprocessable",
      `Quota exceeded: ${count} more tokens would take the tenant over its ${quotaTokensPerDay} of a day (UTC)`,
      { retryAfterSeconds },
    );
  }

  async #take({ limit, bucket }: Window, count: number): Promise<"in" | "over"> {
    if (limit === 0) return "in";
    const { consumedPoints } = await this.#counter.penalty(bucket, count);
    if (consumedPoints <= limit || consumedPoints === count) return "in";
    await this.#counter.reward(bucket, count);
    return "over";
  }

  #mostAtOnce({ limits }: Principal): number {
    return limits?.concurrentRequests ?? this.#bounds.concurrentRequests;
  }

  #enter(principal: Principal): "in" | "over" {
    const { id } = principal;
    const bound = this.#mostAtOnce(principal);
    const running = this.#running.get(id) ?? 0;
    if (bound !== 0 && running >= bound) return "over";
    this.#running.set(id, running + 1);
    return "in";
  }

  #leave(id: string): void {
    const running = (this.#running.get(id) ?? 1) - 1;
    if (running === 0) this.#running.delete(id);
    else this.#running.set(id, running);
  }

  async #overRate({ name, limit, bucket }: Window): Promise<SheafError> {
    const state = await this.#counter.get(bucket);
    return new SheafError(
      "rate_limited",
      `Too many requests; backoff and try again: this API key has ${limit} ${name} a minute`,
      { retryAfterSeconds: secondsLeft(state) },
    );
  }

  /** The fields of draft-ietf-httpapi-ratelimit-headers, and of its early drafts, which clients read. */
  async #headers(windows: readonly Window[]): Promise<Record<string, string>> {
    const policies: string[] = [];
    const states: string[] = [];
    const plain: Record<string, string> = {};
    for (const { name, limit, bucket } of windows) {
      if (limit === 0) continue;
      const state = await this.#counter.get(bucket);
      const remaining = Math.max(0, limit - (state?.consumedPoints ?? 0));
      policies.push(`"${name}";q=${limit};w=${WINDOW_SECONDS}`);
      states.push(`"${name}";r=${remaining};t=${secondsLeft(state)}`);
      if (name !== "requests") continue;
      plain["ratelimit-limit"] = String(limit);
      plain["ratelimit-remaining"] = String(remaining);
      plain["ratelimit-reset"] = String(secondsLeft(state));
    }
    if (policies.length === 0) return plain;
    return { ...plain, "ratelimit-policy": policies.join(", "), ratelimit: states.join(", ") };
  }
}

function secondsLeft(state: RateLimiterRes | null): number {
  return state === null ? WINDOW_SECONDS : Math.max(1, Math.ceil(state.msBeforeNext / 1_000));
}

function tooManyAtOnce(most: number): SheafError {
  return new SheafError(
    "rate_limited",
    `Too many requests at a time; wait for an answer and try again: this API key may have ${most} in progress`,
  );
}

/**
 * A budget of bytes that callers hold for a while: bodies that are being read, replies that are being sent. It has a
 * share for each tenant, over all its keys, and a bound for the whole server.
 *
 * Invariants: the sum of all leases never exceeds `whole` and an eighth more. That eighth is for tenants that hold little:
 * whatever a few large ones hold for long, small requests of others are served. A tenant that holds one lease alone is never refused by its
 * own share, however large the lease grows. Whoever takes a lease releases it, and releasing twice does nothing.
 */
import { SheafError } from "./errors.ts";

export interface ByteBudgetOptions {
  /** What the bytes are, for messages: "request bodies". */
  readonly what: string;
  /** Most bytes of one tenant, where it holds more than one lease. */
  readonly perTenant: number;
  /** Most bytes of all tenants; those that hold little may take an eighth more. */
  readonly whole: number;
  /** What a refused caller is told to wait. Default 1. */
  readonly retryAfterSeconds?: number;
}

/** Shares of the whole: what a tenant may have that holds little, and what is there for such tenants alone. */
const LITTLE = 1 / 64;
const EXTRA = 1 / 8;

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  readonly #byTenant = new Map<string, number>();
  #held = 0;

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  /** Bytes of all leases. */
  get held(): number {
    return this.#held;
  }

  /** Throws 429 over the tenant's share, 503 over the whole; then nothing is held. */
  charge(tenant: string, bytes: number): ByteLease {
    const lease = new ByteLease((already, more) => this.#take(tenant, already, more));
    lease.grow(bytes);
    return lease;
  }

  /** `already`: what the lease holds; `more` may be negative. */
  #take(tenant: string, already: number, more: number): void {
    const before = this.#byTenant.get(tenant) ?? 0;
    if (more > 0) this.#check(before - already, before + more, this.#held + more);
    this.#held += more;
    if (before + more === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, before + more);
  }

  #check(others: number, ofTenant: number, ofAll: number): void {
    const { what, perTenant, whole, retryAfterSeconds = 1 } = this.#options;
    if (others > 0 && ofTenant > perTenant) {
      throw new SheafError(
        "rate_limited",
        `${what} in progress for this tenant may take ${perTenant} bytes together; try again when others are done`,
        { retryAfterSeconds },
      );
    }
    const most = ofTenant <= whole * LITTLE ? whole * (1 + EXTRA) : whole;
    if (ofAll > most) {
      throw new SheafError(
        "unavailable",
        `${what} in progress on this server may take ${whole} bytes together; try again when others are done`,
        { retryAfterSeconds },
      );
    }
  }
}

/** Bytes that one request holds. */
export class ByteLease {
  readonly #take: (already: number, more: number) => void;
  #bytes = 0;
  #released = false;

  constructor(take: (already: number, more: number) => void) {
    this.#take = take;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws as `charge` does; then the lease holds what it held. After `release` it does nothing. */
  grow(bytes: number): void {
    if (this.#released) return;
    this.#take(this.#bytes, bytes);
    this.#bytes += bytes;
  }

  /** Gives part of it back. */
  shrink(bytes: number): void {
    this.grow(-Math.min(bytes, this.#bytes));
  }

  release(): void {
    this.shrink(this.#bytes);
    this.#released = true;
  }
}

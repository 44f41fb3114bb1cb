/**
 * How many databases and collections a tenant may have. Its collections are counted once and the number kept: at 100,000 of
 * them, counting takes longer than making one more. What other servers do to the same catalog shows in the number of the next
 * collection, which each new one raises; what they remove shows in a count anew, before a tenant is refused by an old one.
 */
import { SheafError } from "@sheaf/protocol";

/** Beyond it all are forgotten, which costs one counting each. */
const MAX_TENANTS = 10_000;
/** A count that refuses is at most so old. */
const REFUSING_MS = 1_000;

type Counted = "databases" | "collections";

export interface CatalogQuotas {
  /** That one tenant may have; 0: any number. */
  readonly databases: number;
  readonly collections: number;
  /** That there may be, of all tenants together; 0: any number. */
  readonly keys: number;
}

interface Count {
  readonly number: number;
  readonly countedAt: number;
}

export class TenantCounts {
  readonly #quotas: CatalogQuotas;
  readonly #counts = new Map<string, Count>();
  /** That the next collection will have, as far as the counts know; `null`: they know of none. */
  #next: number | null = null;
  #changes = 0;

  constructor(quotas: CatalogQuotas) {
    this.#quotas = quotas;
  }

  /** Part of a transaction: of one that fails the counts are as wrong as what it wrote. */
  async change<T>(action: () => Promise<T>): Promise<T> {
    const before = this.#changes;
    try {
      return await action();
    } catch (error) {
      if (this.#changes !== before) this.forget();
      throw error;
    }
  }

  /** 422 if the tenant has as many databases as it may have. */
  async requireDatabase(count: () => Promise<number>): Promise<void> {
    const most = this.#quotas.databases;
    if (most !== 0 && (await count()) >= most) throw exceeded("databases", most);
  }

  /** 422 if the tenant has as many collections as it may have. `next`: the number of the next collection there is. */
  async requireCollection(tenant: string, next: number, count: () => Promise<number>): Promise<void> {
    const most = this.#quotas.collections;
    if (most === 0) return;
    if (next !== this.#next) this.forget();
    this.#next = next;
    const known = this.#counts.get(tenant);
    const isKnown =
      known !== undefined && (known.number < most || performance.now() - known.countedAt < REFUSING_MS);
    if ((isKnown ? known.number : await this.#count(tenant, count)) >= most)
      throw exceeded("collections", most);
  }

  /** Inside `change`: `more` than before; those that are new have taken their numbers. */
  add(tenant: string, more: number): void {
    this.#changes += 1;
    if (more > 0 && this.#next !== null) this.#next += more;
    const known = this.#counts.get(tenant);
    if (known !== undefined) this.#counts.set(tenant, { ...known, number: known.number + more });
  }

  /** Of all tenants, to be counted anew. */
  forget(): void {
    this.#changes += 1;
    this.#counts.clear();
    this.#next = null;
  }

  async #count(tenant: string, count: () => Promise<number>): Promise<number> {
    const number = await count();
    if (this.#counts.size >= MAX_TENANTS) this.#counts.clear();
    this.#counts.set(tenant, { number, countedAt: performance.now() });
    return number;
  }
}

function exceeded(what: Counted, most: number): SheafError {
  const counted = most === 1 ? what.slice(0, -1) : what;
  return new SheafError("unprocessable", `Quota exceeded: the limit of this tenant is ${most} ${counted}`);
}

/**
 * How many databases and collections tenants have, counted once and kept: at 100,000 of them, counting takes longer than
 * making one more.
 */
import { SheafError } from "@sheaf/protocol";

/** Beyond it all are forgotten, which costs one counting each. */
const MAX_TENANTS = 10_000;

type Counted = "databases" | "collections";

export interface CatalogQuotas {
  /** That one tenant may have; 0: any number. */
  readonly databases: number;
  readonly collections: number;
}

export class TenantCounts {
  readonly #quotas: CatalogQuotas;
  readonly #counts = { databases: new Map<string, number>(), collections: new Map<string, number>() };
  #changes = 0;

  constructor(quotas: CatalogQuotas) {
    this.#quotas = quotas;
  }

  /** A transaction that changes what is counted: of one that fails the counts are as wrong as what it wrote. */
  async change<T, Work>(action: () => Work, transact: (work: () => Work) => Promise<T>): Promise<T> {
    let before = this.#changes;
    try {
      return await transact(() => {
        before = this.#changes;
        return action();
      });
    } catch (error) {
      if (this.#changes !== before) this.forget();
      throw error;
    }
  }

  /** 422 if the tenant has as many as it may have. `count` counts what there is. */
  requireRoom(what: Counted, tenant: string, count: () => number): void {
    const most = this.#quotas[what];
    if (most === 0 || this.#get(what, tenant, count) < most) return;
    throw new SheafError("unprocessable", `Quota exceeded: the limit of this tenant is ${most} ${what}`);
  }

  /** Inside `change`. */
  add(what: Counted, tenant: string, more: number): void {
    this.#changes += 1;
    const known = this.#counts[what].get(tenant);
    if (known !== undefined) this.#counts[what].set(tenant, known + more);
  }

  /** Of all tenants, to be counted anew. */
  forget(): void {
    this.#changes += 1;
    this.#counts.databases.clear();
    this.#counts.collections.clear();
  }

  #get(what: Counted, tenant: string, count: () => number): number {
    const counts = this.#counts[what];
    const known = counts.get(tenant);
    if (known !== undefined) return known;
    if (counts.size >= MAX_TENANTS) counts.clear();
    const counted = count();
    counts.set(tenant, counted);
    return counted;
  }
}

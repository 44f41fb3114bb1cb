/**
 * How many records and bytes a tenant may keep over all its collections. What it has is measured once, at its first
 * use, and counted from then on. A write is judged inside its transaction, so that writes at the same time cannot go
 * over the records together; bytes are those of committed pages, so a tenant is stopped once it has reached them.
 */
import { SheafError } from "@sheaf/protocol";
import type { StoreChange, StoreView } from "../storage/record-store.ts";

/** Of one tenant; 0: no bound. */
export interface TenantQuotas {
  readonly collections: number;
  readonly records: number;
  readonly bytes: number;
}

export const NO_QUOTAS: TenantQuotas = Object.freeze({ collections: 0, records: 0, bytes: 0 });

/** What one collection holds. */
export interface CollectionUsage {
  readonly records: number;
  readonly bytes: number;
}

/** What the budget needs of a store. */
export interface MeasuredStore {
  readonly usedBytes: number;
  apply(plan: (view: StoreView) => StoreChange): Promise<StoreChange>;
}

export class TenantBudget {
  readonly #quotas: TenantQuotas;
  readonly #collections: Map<string, CollectionUsage>;
  /** Records of writes under way. */
  #pending = 0;

  constructor(quotas: TenantQuotas, collections: ReadonlyMap<string, CollectionUsage>) {
    this.#quotas = quotas;
    this.#collections = new Map(collections);
  }

  get records(): number {
    return this.#sum("records");
  }

  get bytes(): number {
    return this.#sum("bytes");
  }

  /** Throws 422 unless `records` more, or a change of what is there, fit. */
  require(records: number): void {
    const { records: most, bytes } = this.#quotas;
    if (most !== 0 && records > 0 && this.records + this.#pending + records > most) {
      throw exceeded(`the tenant may keep ${most} records`);
    }
    if (bytes !== 0 && this.bytes >= bytes) {
      throw exceeded(`the tenant keeps ${this.bytes} bytes and may keep ${bytes}`);
    }
  }

  /** A batch of a collection of this tenant; one that only removes always fits. */
  async apply(
    id: string,
    store: MeasuredStore,
    plan: (view: StoreView) => StoreChange,
  ): Promise<StoreChange> {
    let pending = 0;
    try {
      const change = await store.apply((view) => {
        const { nextOffset } = view.head;
        const planned = plan(view);
        const added = planned.puts.filter(({ offset }) => offset >= nextOffset).length;
        if (planned.puts.length > 0) this.require(added - planned.removes.length);
        pending = added - planned.removes.length;
        this.#pending += pending;
        return planned;
      });
      const records = (this.#collections.get(id)?.records ?? 0) + pending;
      this.#collections.set(id, { records, bytes: store.usedBytes });
      return change;
    } finally {
      this.#pending -= pending;
    }
  }

  /** For a collection that came whole, as a fork does. */
  set(id: string, usage: CollectionUsage): void {
    this.#collections.set(id, usage);
  }

  /** For one that is gone. */
  remove(id: string): void {
    this.#collections.delete(id);
  }

  #sum(what: keyof CollectionUsage): number {
    let sum = 0;
    for (const usage of this.#collections.values()) sum += usage[what];
    return sum;
  }
}

/** Where the collections of a tenant are. */
export interface TenantCollections {
  idsOf(tenant: string): readonly string[];
  /** May be open already; closing this one leaves that one open. */
  openStore(id: string): { readonly size: number; readonly usedBytes: number; close(): Promise<void> };
}

/** The budgets of all tenants that were used since the start. */
export class TenantBudgets {
  readonly #quotas: TenantQuotas;
  readonly #collections: TenantCollections;
  readonly #budgets = new Map<string, Promise<TenantBudget>>();

  constructor(quotas: TenantQuotas, collections: TenantCollections) {
    this.#quotas = quotas;
    this.#collections = collections;
  }

  /** `null`: neither records nor bytes are bounded, and nothing is measured. */
  of(tenant: string): Promise<TenantBudget | null> {
    if (this.#quotas.records === 0 && this.#quotas.bytes === 0) return Promise.resolve(null);
    const known = this.#budgets.get(tenant);
    if (known !== undefined) return known;
    const budget = this.#measure(this.#collections.idsOf(tenant)).then(
      (usage) => new TenantBudget(this.#quotas, usage),
    );
    this.#budgets.set(tenant, budget);
    budget.catch(() => this.#budgets.delete(tenant));
    return budget;
  }

  /** A collection whose records come as a copy of another's, which have to fit as well. */
  async fork<T extends { readonly id: string }>(
    source: { readonly tenant: string; readonly id: string },
    copy: () => Promise<T>,
  ): Promise<T> {
    const budget = await this.of(source.tenant);
    if (budget === null) return copy();
    budget.require((await this.#usage(source.id)).records);
    const made = await copy();
    budget.set(made.id, await this.#usage(made.id));
    return made;
  }

  async remove(id: string): Promise<void> {
    for (const budget of this.#budgets.values()) (await budget).remove(id);
  }

  async #measure(ids: readonly string[]): Promise<ReadonlyMap<string, CollectionUsage>> {
    const usage = new Map<string, CollectionUsage>();
    for (const id of ids) usage.set(id, await this.#usage(id));
    return usage;
  }

  async #usage(id: string): Promise<CollectionUsage> {
    const store = this.#collections.openStore(id);
    try {
      return { records: store.size, bytes: store.usedBytes };
    } finally {
      await store.close();
    }
  }
}

export function exceeded(what: string): SheafError {
  return new SheafError("unprocessable", `Quota exceeded: ${what}`);
}

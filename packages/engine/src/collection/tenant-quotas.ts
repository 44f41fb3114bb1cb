/**
 * How many records and bytes a tenant may keep over all its collections. What it has is measured once, at its first
 * use, and counted from then on. A write is judged inside its transaction, before anything of it is stored, so that
 * writes at the same time cannot go over a quota together. Bytes are those of committed pages; of a write those that it may
 * take. A fork is charged like what it copies, and admitted only if that fits whole.
 */
import { type Steps, isInSteps } from "../storage/steps.ts";
import type { StoreChange, StoreView } from "../storage/record-store.ts";
import { NO_USAGE, type Usage, addedRecords, fits, isBounded, requireFits } from "../storage/usage.ts";

/** Of one tenant; 0: no bound. */
export interface TenantQuotas {
  readonly databases: number;
  readonly collections: number;
  /** API keys of all tenants together. */
  readonly keys: number;
  readonly records: number;
  readonly bytes: number;
}

export const NO_QUOTAS: TenantQuotas = Object.freeze({
  databases: 0,
  collections: 0,
  keys: 0,
  records: 0,
  bytes: 0,
});

/** What one collection holds. */
export type CollectionUsage = Usage;

/** What the budget needs of a store. */
export interface MeasuredStore {
  readonly usedBytes: number;
  /** `admit` is told by how many bytes a batch makes the entries larger at most, and throws if it must not be stored. */
  apply(plan: (view: StoreView) => Steps<StoreChange>, admit: (growth: number) => void): Promise<StoreChange>;
}

export class TenantBudget {
  readonly #quotas: TenantQuotas;
  readonly #collections: Map<string, CollectionUsage>;
  /** Records of writes and copies under way. */
  #pending = 0;
  /** Bytes of writes and copies under way. */
  #pendingBytes = 0;

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

  /** Throws 422 unless so many more records and bytes fit. What does not grow always fits. */
  require(records: number, bytes: number): void {
    requireFits({ records, bytes }, this.#kept, this.#quotas);
  }

  /** With what is under way. */
  get #kept(): Usage {
    return { records: this.records + this.#pending, bytes: this.bytes + this.#pendingBytes };
  }

  /** A collection that comes whole, as a fork does: it has to fit whole. `copy` makes it and says what it holds. */
  async admit<T>(
    usage: CollectionUsage,
    copy: () => Promise<{ readonly made: T; readonly id: string; readonly usage: CollectionUsage }>,
  ): Promise<T> {
    this.require(usage.records, usage.bytes);
    this.#pending += usage.records;
    this.#pendingBytes += usage.bytes;
    try {
      const { made, id, usage: held } = await copy();
      this.#collections.set(id, held);
      return made;
    } finally {
      this.#pending -= usage.records;
      this.#pendingBytes -= usage.bytes;
    }
  }

  /**
   * A collection that goes where it takes so many bytes: what that is more has to fit. `go` says whether it went; `false`:
   * it does not fit, or did not go. No batch of it may be under way.
   */
  async move(id: string, bytes: number, go: () => Promise<boolean>): Promise<boolean> {
    const before = this.#collections.get(id) ?? NO_USAGE;
    const growth = Math.max(0, bytes - before.bytes);
    if (!fits({ records: 0, bytes: growth }, this.#kept, this.#quotas)) return false;
    this.#pendingBytes += growth;
    try {
      const isGone = await go();
      if (isGone) this.setUsage(id, { ...before, bytes });
      return isGone;
    } finally {
      this.#pendingBytes -= growth;
    }
  }

  /** A batch of a collection of this tenant; one that only removes always fits. */
  async apply(
    id: string,
    store: MeasuredStore,
    plan: (view: StoreView) => Steps<StoreChange>,
  ): Promise<StoreChange> {
    let pending = 0;
    let pendingBytes = 0;
    const planned = (view: StoreView): Steps<StoreChange> => {
      const { nextOffset } = view.head;
      return counted(plan(view), nextOffset, (added) => {
        this.require(added, 0);
        this.#pending += pending = added;
      });
    };
    const admit = (growth: number): void => {
      this.require(0, growth);
      this.#pendingBytes += pendingBytes = Math.max(0, growth);
    };
    try {
      const change = await store.apply(planned, admit);
      const records = (this.#collections.get(id)?.records ?? 0) + pending;
      this.#collections.set(id, { records, bytes: store.usedBytes });
      return change;
    } finally {
      this.#pending -= pending;
      this.#pendingBytes -= pendingBytes;
    }
  }

  /** What a collection of this tenant was found to hold; nothing is known of others. */
  setUsage(id: string, usage: CollectionUsage): void {
    if (this.#collections.has(id)) this.#collections.set(id, usage);
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

/** Told how many records a plan adds, once it is made. */
function* counted(
  plan: Steps<StoreChange>,
  nextOffset: number,
  onAdded: (added: number) => void,
): Generator<void, StoreChange> {
  const change = isInSteps(plan) ? yield* plan : plan;
  onAdded(yield* addedRecords(change, nextOffset));
  return change;
}

/** Where the collections of a tenant are. */
export interface TenantCollections {
  idsOf(tenant: string): Promise<readonly string[]>;
  /** Never rejects for a collection that is damaged. */
  measure(id: string): Promise<CollectionUsage>;
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
    if (!isBounded(this.#quotas)) return Promise.resolve(null);
    const known = this.#budgets.get(tenant);
    if (known !== undefined) return known;
    const budget = this.#measure(tenant).then((usage) => new TenantBudget(this.#quotas, usage));
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
    return budget.admit(await this.#collections.measure(source.id), async () => {
      const made = await copy();
      return { made, id: made.id, usage: await this.#collections.measure(made.id) };
    });
  }

  async remove(id: string): Promise<void> {
    for (const budget of this.#budgets.values()) (await budget).remove(id);
  }

  /** A collection that could not be read when its tenant was measured, and can be now. */
  async measureAgain(id: string): Promise<void> {
    for (const budget of this.#budgets.values()) {
      (await budget).setUsage(id, await this.#collections.measure(id));
    }
  }

  /** A collection of this tenant has moved, and takes more or less than before. */
  async moved(id: string, tenant: string): Promise<void> {
    const budget = await this.#budgets.get(tenant);
    if (budget !== undefined) budget.setUsage(id, await this.#collections.measure(id));
  }

  async #measure(tenant: string): Promise<ReadonlyMap<string, CollectionUsage>> {
    const usage = new Map<string, CollectionUsage>();
    for (const id of await this.#collections.idsOf(tenant))
      usage.set(id, await this.#collections.measure(id));
    return usage;
  }
}

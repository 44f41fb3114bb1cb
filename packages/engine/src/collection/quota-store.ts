/** A record store whose batches have to fit its tenant's quotas. */
import { ForwardingStore } from "../storage/forwarding-store.ts";
import type { RecordStore, StoreChange, StoreView } from "../storage/record-store.ts";
import type { Steps } from "../storage/steps.ts";
import type { MeasuredStore, TenantBudget } from "./tenant-quotas.ts";

export class QuotaStore extends ForwardingStore {
  readonly #id: string;
  readonly #store: MeasuredStore;
  readonly #budget: TenantBudget;

  /** @param id Of the collection. */
  constructor(id: string, store: RecordStore & MeasuredStore, budget: TenantBudget) {
    super(store);
    this.#id = id;
    this.#store = store;
    this.#budget = budget;
  }

  apply(plan: (view: StoreView) => Steps<StoreChange>): Promise<StoreChange> {
    return this.#budget.apply(this.#id, this.#store, plan);
  }
}

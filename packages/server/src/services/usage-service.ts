/**
 * What a tenant has beside what it may have. It is added up from what the catalog knows of each collection, batch by batch,
 * so that it opens no collection however many there are. Batches of tenants take turns.
 */
import type { CollectionUsage, TenantQuotas } from "@sheaf/engine";
import { type Database, throwIfAborted } from "@sheaf/protocol";
import type { ActivityLedger } from "../auth/activity-ledger.ts";
import type { EngineSource } from "../request/engine-source.ts";
import { FairTurns, type TurnOwner } from "../request/fair-turns.ts";
import type { RequestBudget } from "../request/request-context.ts";

/** Of a tenant; 0: no bound. */
export interface UsageBounds extends Omit<TenantQuotas, "keys"> {
  readonly tokensPerDay: number;
}

export interface UsageRequest {
  readonly tenant: string;
  /** The only one that the caller may see; `null`: all. */
  readonly database: string | null;
  /** Of the collections that are described one by one. */
  readonly limit: number;
  readonly offset: number;
}

export interface Amount {
  /** `null`: nobody counts it. */
  readonly used: number | null;
  /** `null`: no bound, or one of more than the caller may see. */
  readonly quota: number | null;
}

export interface DescribedUsage extends CollectionUsage {
  readonly database: string;
}

export interface TenantUsage {
  readonly databases: Amount;
  readonly collections: Amount;
  readonly records: Amount;
  readonly bytes: Amount;
  readonly tokensToday: Amount;
  readonly described: readonly DescribedUsage[];
}

export interface UsageServiceOptions {
  readonly engine: EngineSource;
  readonly ledger: ActivityLedger;
  readonly bounds: UsageBounds;
}

type Databases = readonly Pick<Database, "name">[];

/** Batches that are read at a time; each takes the engine some milliseconds. */
const READ_AT_ONCE = 2;

export class UsageService {
  readonly #options: UsageServiceOptions;
  readonly #turns = new FairTurns(READ_AT_ONCE);
  #begun = 0;

  constructor(options: UsageServiceOptions) {
    this.#options = options;
  }

  /** 404 for a tenant, or the database of a bound key, that is not there. */
  async of(request: UsageRequest, budget: RequestBudget): Promise<TenantUsage> {
    const { tenant, database } = request;
    const { bounds } = this.#options;
    const owner = { tenant, age: this.#begun++ };
    const databases = await this.#databases(request, budget);
    const described: DescribedUsage[] = [];
    const sum = { collections: 0, records: 0, bytes: 0 };
    const end = request.offset + request.limit;
    for (const { name } of databases) {
      for await (const usage of this.#collections({ tenant, database: name }, owner, budget)) {
        sum.records += usage.held?.records ?? 0;
        sum.bytes += usage.held?.bytes ?? 0;
        if (sum.collections >= request.offset && sum.collections < end)
          described.push({ ...usage, database: name });
        sum.collections += 1;
      }
    }
    // What counts for the whole tenant says nothing of a part of it.
    const amount = (used: number | null, most: number): Amount => ({
      used,
      quota: most === 0 || database !== null ? null : most,
    });
    const { tokensPerDay } = bounds;
    const counted = tokensPerDay > 0 && database === null;
    const tokens = counted ? await this.#options.ledger.spentToday(tenant) : null;
    return {
      databases: amount(databases.length, bounds.databases),
      collections: amount(sum.collections, bounds.collections),
      records: amount(sum.records, bounds.records),
      bytes: amount(sum.bytes, bounds.bytes),
      tokensToday: amount(tokens, tokensPerDay),
      described,
    };
  }

  async #databases({ tenant, database }: UsageRequest, budget: RequestBudget): Promise<Databases> {
    const engine = this.#options.engine();
    if (database !== null) return [await engine.getDatabase({ tenant, database })];
    await engine.getTenant(tenant);
    const found: Database[] = [];
    for (let page = FIRST_PAGE; ;) {
      const { items, next } = await engine.listDatabases(tenant, page);
      throwIfAborted(budget.signal);
      found.push(...items);
      if (next === null) return found;
      page = { ...FIRST_PAGE, after: next };
    }
  }

  async *#collections(
    ref: { readonly tenant: string; readonly database: string },
    owner: TurnOwner,
    budget: RequestBudget,
  ): AsyncGenerator<CollectionUsage, void> {
    for (let page = FIRST_PAGE; ;) {
      const of = page;
      const read = () => this.#options.engine().collectionUsage(ref, of);
      const { items, next } = await this.#turns.run(owner, budget.signal, read);
      yield* items;
      if (next === null) return;
      page = { ...FIRST_PAGE, after: next };
    }
  }
}

const FIRST_PAGE: { readonly limit: null; readonly offset: number; readonly after?: string } = {
  limit: null,
  offset: 0,
};

/**
 * Shares the memory budget among models: a model that must load waits until the least recently used idle ones have
 * left. Unloading ends processes, which alone gives memory back for certain.
 * Invariant: what is reserved never exceeds the budget.
 */
import { SheafError } from "@sheaf/protocol";

/** A model as the budget sees it. */
export interface MemoryTenant {
  readonly identifier: string;
  /** What it takes while it is loaded. */
  readonly bytes: number;
  /** Never unloaded. */
  readonly pinned: boolean;
  /** No call is under way. */
  readonly idle: boolean;
  /** Larger: used later. */
  readonly lastUsed: number;
  /** Ends its processes. */
  unload(): Promise<void>;
}

export class ModelMemory {
  readonly #budgetBytes: number;
  readonly #loaded = new Set<MemoryTenant>();
  #line: Promise<void> = Promise.resolve();
  #wakeUp: () => void = () => {};

  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes;
  }

  get usedBytes(): number {
    return sum(this.#loaded);
  }

  /** Its room is taken. */
  holds(tenant: MemoryTenant): boolean {
    return this.#loaded.has(tenant);
  }

  /**
   * Resolves once the model has its room, which is taken until `release`. One at a time, in order of arrival. 503 if
   * the models that are never unloaded leave too little.
   */
  reserve(tenant: MemoryTenant): Promise<void> {
    const turn = this.#line.then(() => this.#makeRoom(tenant));
    this.#line = turn.catch(() => {});
    return turn;
  }

  release(tenant: MemoryTenant): void {
    this.#loaded.delete(tenant);
    this.#wakeUp();
  }

  /** To be called when a model became idle. */
  noteIdle(): void {
    this.#wakeUp();
  }

  async #makeRoom(tenant: MemoryTenant): Promise<void> {
    const pinned = sum([...this.#loaded].filter((other) => other.pinned));
    const left = this.#budgetBytes - pinned;
    if (tenant.bytes > left) throw tooLarge(tenant.identifier, tenant.bytes, left);
    while (this.usedBytes + tenant.bytes > this.#budgetBytes) {
      const changed = new Promise<void>((resolve) => {
        this.#wakeUp = resolve;
      });
      const victim = leastRecentlyUsed(this.#loaded);
      if (victim === null) {
        await changed;
      } else {
        this.#loaded.delete(victim);
        await victim.unload();
      }
    }
    this.#loaded.add(tenant);
  }
}

/** 503: the operator must give more memory or fewer models. */
export function tooLarge(identifier: string, neededBytes: number, leftBytes: number): SheafError {
  return new SheafError(
    "model_unavailable",
    `the model ${identifier} needs ${gibibytes(neededBytes)} of memory and the budget leaves ${gibibytes(leftBytes)}; raise --model-memory or pin fewer models`,
  );
}

export function gibibytes(bytes: number): string {
  return `${(Math.max(bytes, 0) / 2 ** 30).toFixed(2)} GiB`;
}

function leastRecentlyUsed(loaded: Iterable<MemoryTenant>): MemoryTenant | null {
  const idle = [...loaded].filter((tenant) => tenant.idle && !tenant.pinned);
  return idle.reduce<MemoryTenant | null>(
    (oldest, tenant) => (oldest === null || tenant.lastUsed < oldest.lastUsed ? tenant : oldest),
    null,
  );
}

function sum(tenants: Iterable<MemoryTenant>): number {
  return [...tenants].reduce((total, { bytes }) => total + bytes, 0);
}

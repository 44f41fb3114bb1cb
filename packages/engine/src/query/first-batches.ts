/**
 * How much the answers that begin reads may hold, by tenant: all answers go one after the other, so those of a thousand
 * reads at once would keep those of other tenants waiting for seconds. What is left out of them comes with next batches,
 * for which tenants take turns.
 */

/** Of one answer. */
export const BATCH_BYTES = 1024 * 1024;
/** Of the answers to reads that a tenant has under way together, about… */
const TOGETHER_BYTES = 8 * BATCH_BYTES;
/** … and as little as this of each, if there are very many. */
const LEAST_BYTES = 16 * 1024;

export class FirstBatches {
  /** By tenant: reads of which the first batch is not made yet. */
  readonly #reads = new Map<string, number>();

  /** A read begins. Call the result once its first batch is made, or never will be. */
  enter(tenant: string): () => void {
    this.#reads.set(tenant, this.#of(tenant) + 1);
    return () => {
      const left = this.#of(tenant) - 1;
      if (left === 0) this.#reads.delete(tenant);
      else this.#reads.set(tenant, left);
    };
  }

  /** Bytes of records that a first batch may have now. */
  room(tenant: string): number {
    const share = TOGETHER_BYTES / Math.max(1, this.#of(tenant));
    return Math.max(LEAST_BYTES, Math.min(BATCH_BYTES, share));
  }

  #of(tenant: string): number {
    return this.#reads.get(tenant) ?? 0;
  }
}

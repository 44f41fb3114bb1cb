/** Work of which each tenant does only so much at a time; nobody waits for what another one does. */
import { Slots } from "../../storage/objects/slots.ts";

interface OwnSlots {
  readonly slots: Slots;
  /** Under way, and waiting. */
  uses: number;
}

export class TenantSlots {
  readonly #most: number;
  readonly #tenants = new Map<string, OwnSlots>();

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const own = this.#tenants.get(tenant) ?? { slots: new Slots(this.#most), uses: 0 };
    this.#tenants.set(tenant, own);
    own.uses += 1;
    try {
      return await own.slots.run(work);
    } finally {
      own.uses -= 1;
      if (own.uses === 0) this.#tenants.delete(tenant);
    }
  }
}

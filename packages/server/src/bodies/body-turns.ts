/**
 * Which large bodies of a tenant are received now: as many as fit its share with the size they say they have, in the order
 * they came. Were all read a piece each, none would ever be whole. What a size claims too much is at the cost of the same
 * tenant; bytes that really come are charged by the budget.
 */
export class BodyTurns {
  readonly #perTenant: number;
  readonly #tenants = new Map<string, TenantTurns>();

  constructor(perTenant: number) {
    this.#perTenant = perTenant;
  }

  /** `begin` is called now or later, unless the turn is released before. A body that is alone always begins. */
  ask(tenant: string, bytes: number, begin: () => void): BodyTurn {
    let turns = this.#tenants.get(tenant);
    if (turns === undefined) this.#tenants.set(tenant, (turns = new TenantTurns(this.#perTenant)));
    return turns.ask(bytes, begin, () => this.#tenants.delete(tenant));
  }
}

interface BodyTurn {
  /** To be called once the request is over; more than once does nothing. */
  release(): void;
}

interface Asked {
  readonly bytes: number;
  readonly begin: () => void;
}

class TenantTurns {
  readonly #most: number;
  readonly #waiting = new Set<Asked>();
  readonly #begun = new Set<Asked>();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  ask(bytes: number, begin: () => void, onEmpty: () => void): BodyTurn {
    const asked = { bytes, begin };
    this.#waiting.add(asked);
    this.#beginNext();
    return {
      release: () => {
        this.#waiting.delete(asked);
        if (this.#begun.delete(asked)) this.#bytes -= bytes;
        this.#beginNext();
        if (this.#waiting.size === 0 && this.#begun.size === 0) onEmpty();
      },
    };
  }

  #beginNext(): void {
    for (const asked of this.#waiting) {
      if (this.#begun.size > 0 && this.#bytes + asked.bytes > this.#most) return;
      this.#waiting.delete(asked);
      this.#begun.add(asked);
      this.#bytes += asked.bytes;
      asked.begin();
    }
  }
}

/** What a server knows of records that it does not have, of all its collections within one bound: the least used go first. */
import { ByteBudget, type ByteLease } from "@sheaf/protocol";
import { LRUCache } from "lru-cache";

/** Of one id, as it is at a state of the log or was left by a later batch that is known, too. */
export interface Fact {
  /** Sequence number of a state that it is of. It stays true until a later batch names the id. */
  readonly asOf: number;
  /** -1: there is no such record. */
  readonly offset: number;
  /** Of its value. */
  readonly bytes: number;
  /** As it is in a store; `null`: not known, or none. */
  readonly value: Uint8Array | null;
  /** Of one that is not there: it was removed after this operation, and so after every earlier one; -1: not that is known. */
  readonly removedAfter: number;
  /** Of one that is not there: it was not removed after this operation, nor after any later one; infinite: nobody has said. */
  readonly keptAfter: number;
}

/** Of an entry beside its value and its key. */
const ENTRY_BYTES = 256;
const KNOWN_BYTES = 64 * 1024 * 1024;
/** What plans look at is kept for them beside the table, in all collections of a tenant, and of the process. */
const TENANT_BYTES = 256 * 1024 * 1024;
const PLANNED_BYTES = 512 * 1024 * 1024;

export class KnownRecords {
  readonly #facts: LRUCache<string, Fact>;
  readonly #budget = new ByteBudget({
    what: "records that writes change",
    perTenant: TENANT_BYTES,
    whole: PLANNED_BYTES,
  });
  #opened = 0;

  /** @param mostBytes Few for tests. */
  constructor(mostBytes = KNOWN_BYTES) {
    this.#facts = new LRUCache<string, Fact>({ maxSize: mostBytes });
  }

  /** That it takes, about. */
  get bytes(): number {
    return this.#facts.calculatedSize;
  }

  /** That plans under way look at, about. */
  get held(): number {
    return this.#budget.held;
  }

  /** For one collection while it is open. What it leaves behind nobody finds, and it goes with the least used. */
  open(tenant: string): OpenedFacts {
    let prefix = this.#nextPrefix();
    return {
      get: (id) => this.#facts.get(prefix + id),
      set: (id, fact) => {
        const key = prefix + id;
        this.#facts.set(key, fact, { size: ENTRY_BYTES + 2 * key.length + (fact.value?.length ?? 0) });
      },
      delete: (id) => void this.#facts.delete(prefix + id),
      clear: () => {
        prefix = this.#nextPrefix();
      },
      lease: () => this.#budget.charge(tenant, 0),
    };
  }

  #nextPrefix(): string {
    this.#opened += 1;
    return `${this.#opened}/`;
  }
}

export interface OpenedFacts {
  get(id: string): Fact | undefined;
  set(id: string, fact: Fact): void;
  delete(id: string): void;
  clear(): void;
  /** For what plans look at. Growing throws where the tenant, or the process, has too much of that. */
  lease(): ByteLease;
}

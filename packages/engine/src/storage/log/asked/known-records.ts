/** What a server knows of records that it does not have, of all its collections within one bound: the least used go first. */
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

export class KnownRecords {
  readonly #facts: LRUCache<string, Fact>;
  #opened = 0;

  /** @param mostBytes Few for tests. */
  constructor(mostBytes = KNOWN_BYTES) {
    this.#facts = new LRUCache<string, Fact>({ maxSize: mostBytes });
  }

  /** That it takes, about. */
  get bytes(): number {
    return this.#facts.calculatedSize;
  }

  /** For one collection while it is open. What it leaves behind nobody finds, and it goes with the least used. */
  open(): OpenedFacts {
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
}

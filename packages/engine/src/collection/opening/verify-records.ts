/**
 * The check of every record that an opening from index files leaves out: each record can be read, its id leads to it, the
 * index has just this version of it, and nothing is missing from the store. It goes on behind the calls, at a fifth of the
 * time of the thread, only while the index has every commit that the store shows, and not before the index has loaded what
 * makes searches fast.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { CorruptDataError } from "../../storage/corrupt-data-error.ts";
import type { RecordStore, StoreChange } from "../../storage/record-store.ts";

const SLICE_MS = 2;
const PAUSE_MS = 8;

export interface VerificationSource {
  readonly store: RecordStore;
  readonly index: CollectionIndex;
  /** The index has every commit that the store shows. */
  readonly isSettled: () => boolean;
}

export class RecordVerification {
  readonly #source: VerificationSource;
  /** Records below this offset have been looked at. */
  #next = 0;
  #found = 0;
  readonly #into: Float32Array;

  constructor(source: VerificationSource) {
    this.#source = source;
    this.#into = new Float32Array(source.store.head.dimension ?? 0);
  }

  /** To be told of every change of the index. */
  changed({ removes }: Pick<StoreChange, "removes">): void {
    for (const { offset } of removes) if (offset < this.#next) this.#found--;
  }

  /** Throws what is wrong first. Ends early, without a finding, once it is aborted. */
  async run(signal: CancelSignal): Promise<void> {
    while (!signal.aborted) {
      const { index, isSettled } = this.#source;
      if (!index.isLoading && isSettled() && this.#slice()) return;
      await sleep(PAUSE_MS, undefined, { ref: false });
    }
  }

  /** `true`: that was all. */
  #slice(): boolean {
    const until = performance.now() + SLICE_MS;
    const { store, index } = this.#source;
    const onDamage = (_offset: number, damage: CorruptDataError): never => {
      throw damage;
    };
    for (const { id, offset, sequence } of store.scan(this.#next, { onDamage, into: this.#into })) {
      const known = index.versionOf(id);
      if (known?.offset !== offset || known.sequence !== sequence)
        throw new SheafError("collection_unavailable", `the index differs from record ${JSON.stringify(id)}`);
      this.#found++;
      this.#next = offset + 1;
      if (performance.now() >= until) return false;
    }
    store.requireWhole(this.#found);
    return true;
  }
}

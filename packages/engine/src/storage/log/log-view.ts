/** What stands on this machine for the records that a log holds. */
import type { PlanNeeds, RecordStore, StoreChange, StoreView } from "../record-store.ts";
import type { Steps } from "../steps.ts";

/** A store on this machine that keeps beside its head which batch of the log that is of. */
export interface LogView extends RecordStore {
  /** `null`: it has come to none yet, or follows no log. */
  readonly batch: string | null;
  /** `apply` of a batch of the log; both are stored or neither is. */
  follow(plan: (view: StoreView) => Steps<StoreChange>, batch: string): Promise<void>;
  /** What operations up to this one changed is not known any more. */
  forgetUpTo(sequence: number): Promise<void>;
  /** Of the value of the record with this offset; 0 where there is none. */
  storedBytes(offset: number): number;
  /** Of a view that has no records: what plans need is asked of others. Left out: all records are here. */
  readonly asked?: AskedRecords;
}

export interface AskedRecords {
  /**
   * Learns what these plans look at, and keeps it until `forget`. Resolves to the sequence number that the view has
   * to come to before one of them is made. What could not be learnt a plan throws. Throws `TooMuchLearnt` where the records
   * take more than `mostBytes`.
   */
  learn(needs: readonly PlanNeeds[], mostBytes: number): Promise<number>;
  /** The view has followed the log so far. Throws where the log is another one than those know who were asked. */
  requireSame(): void;
  /** The plans are made, or given up. */
  forget(): void;
  /** Those of the records with these offsets, as far as they are there. */
  idsAt(offsets: readonly number[]): Promise<readonly string[]>;
}

import type { StoreChange, StoreView } from "../record-store.ts";

/** Hears of the batches that others wrote, in their order, between those of a store. */
export interface LogFollower {
  /** Until there is room for what a batch brings; where it rejects, nothing of it is stored, and it is read again later. */
  room?(): Promise<void> | undefined;
  /** Steps before it is stored, on what is there before it. */
  before(view: StoreView, change: StoreChange): Generator<void, void>;
  /** It is stored; `null`: it is not. */
  after(change: StoreChange | null): Promise<void>;
}

/** Before a read: the index has all that is in the log. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import type { StepQueue } from "../step-queue.ts";

/**
 * Until the index has what was in the log when this was called, or what was up to the sequence number `until`. What is stored
 * gets there a moment later: what another call has read of the log, and what this server writes.
 *
 * @param isIndexed Whether reads see this sequence number, or will not come to see it.
 */
export async function catchUp(
  store: Pick<LoggedRecordStore, "refresh" | "position">,
  indexChanges: StepQueue,
  isIndexed: (sequence: number) => boolean,
  until = Infinity,
): Promise<void> {
  await store.refresh(until);
  const sequence = Math.min(store.position.sequence, until);
  while (!isIndexed(sequence)) {
    await nextTurn();
    await indexChanges.idle();
  }
}

/**
 * Runs a read on one index snapshot, and again on a newer one if the records it showed changed in the store before
 * they were read. Writers can overtake a long read without end, so the last attempt takes records as it finds them.
 */
import { setTimeout } from "node:timers/promises";
import type { QueryContext } from "./query-context.ts";
import { RecordView, StaleSnapshot } from "./record-view.ts";

const STRICT_ATTEMPTS = 4;

/**
 * `read` takes what depends on the newest state of the index (ids) before it first waits: until then that state
 * is the view's snapshot.
 */
export async function readSnapshot<T>(
  context: QueryContext,
  read: (view: RecordView) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const strict = attempt <= STRICT_ATTEMPTS;
    const view = new RecordView(context.index.snapshot(), context.reader, { strict });
    try {
      return await read(view);
    } catch (error) {
      if (!(error instanceof StaleSnapshot)) throw error;
      if (error.id !== null) context.requireStored?.(error.id);
      // A commit is visible in the store a moment before the index hears of it.
      await setTimeout(attempt);
    }
  }
}

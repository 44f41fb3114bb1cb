/**
 * Runs a read on one index snapshot. A short one takes its chance: nearly always nothing changes until it is done.
 * Where a record that it needs has changed in the store, and where it goes on for several batches while that may
 * happen, it has former versions kept for it from then on, and starts over on a newer snapshot once. So no read is
 * overtaken by writers without end, and none sees two states.
 */
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import { withData } from "../storage/data-absent.ts";
import type { MemoryShare, ReadTicket } from "../storage/version-history.ts";
import type { QueryContext } from "./query-context.ts";
import { RecordView, StaleSnapshot } from "./record-view.ts";

/** The second has former versions; more only where too many were made meanwhile to be kept. */
const ATTEMPTS = 4;

/**
 * `read` takes what depends on the newest state of the index (ids) before it first waits: until then that state
 * is the view's snapshot.
 */
export async function readSnapshot<T>(
  context: QueryContext,
  read: (view: RecordView) => Promise<T>,
  signal?: CancelSignal,
): Promise<T> {
  const { result, ticket } = await openSnapshot(context, read, () => false, signal);
  ticket?.close();
  return result;
}

export interface SnapshotRead<T> {
  readonly result: T;
  /** To be closed by the caller; never `null` where the view lives on. */
  readonly ticket: ReadTicket | null;
}

/** `readSnapshot` for a result that goes on reading through the view, as far as `livesOn` says so. */
export async function openSnapshot<T>(
  context: QueryContext,
  read: (view: RecordView) => Promise<T>,
  livesOn: (result: T) => boolean,
  signal?: CancelSignal,
): Promise<SnapshotRead<T>> {
  let ticket: ReadTicket | null = null;
  let endedBy: MemoryShare | null = null;
  try {
    let view!: RecordView;
    const begin = (): Promise<T> => {
      view = new RecordView(context.index.snapshot(), context.reader, ticket, context.documents);
      return read(view);
    };
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      // One that had to fetch something begins again with the newest state.
      const outcome = await attempted(() => withData(context.reader, begin, signal));
      if (outcome instanceof StaleSnapshot) {
        context.requireStored?.(outcome.id);
      } else {
        if (ticket === null && livesOn(outcome.result)) ticket = cover(context, view);
        if (ticket !== null || !livesOn(outcome.result)) {
          const kept = ticket;
          ticket = null;
          return { result: outcome.result, ticket: kept };
        }
      }
      endedBy = ticket?.endedBy ?? null;
      ticket?.close();
      ticket = await context.versions.open();
    }
  } finally {
    ticket?.close();
  }
  throw overtaken(endedBy);
}

/** Of a read that cannot go on: 429 where its own collection has used up the memory for former versions, else 503. */
export function overtaken(endedBy: MemoryShare | null): SheafError {
  const code = endedBy === "collection" ? "rate_limited" : "unavailable";
  const message = "too much of the collection changed while it was read; try again";
  return new SheafError(code, message, { retryAfterSeconds: 1 });
}

/** `null`: something has changed since the snapshot, or is about to. */
function cover({ index, versions }: QueryContext, view: RecordView): ReadTicket | null {
  const ticket = index.snapshot() === view.snapshot ? versions.tryOpen() : null;
  if (ticket !== null) view.hold(ticket);
  return ticket;
}

async function attempted<T>(read: () => Promise<T>): Promise<{ result: T } | StaleSnapshot> {
  try {
    return { result: await read() };
  } catch (error) {
    if (error instanceof StaleSnapshot) return error;
    throw error;
  }
}

/** Deletes from an open collection: by id, or of what a filter finds, which is chosen and removed at one state. */
import {
  type CancelSignal,
  type DeleteRequest,
  type JsonObject,
  chunkingOf,
  throwIfAborted,
} from "@sheaf/protocol";
import type { SelectedRecords } from "../../query/partitioned/read-partitions.ts";
import type { StageTimes } from "../../query/stage-times.ts";
import type { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import type { RecordStore, StoreChange } from "../../storage/record-store.ts";
import type { RecordReads } from "../collection-reads.ts";
import type { IndexProgress } from "../index-progress.ts";
import { whenWarm } from "../logged/when-warm.ts";
import { againWhileOutdated, isOutdated, requireStill } from "../logged/outdated-plan.ts";
import { planRemove } from "../plan-write.ts";
import type { PlannedCommit } from "../planning/plan-and-keep.ts";
import { needsOfRemoval } from "../planning/plan-needs.ts";
import type { WriteGate } from "../write-gate.ts";

export interface DeletingCollection {
  readonly schema: JsonObject;
  readonly store: RecordStore;
  readonly reads: RecordReads;
  readonly gate: WriteGate;
  readonly progress: IndexProgress;
  /** Has the store follow what other servers have written; `null`: nobody else writes. */
  readonly refresh: (() => Promise<void>) | null;
  /** As of `OpenCollection`. */
  readonly logged: LoggedRecordStore | undefined;
  readonly commit: (...planned: PlannedCommit) => Promise<StoreChange>;
}

/** How many there were. */
export async function deleteRecords(
  collection: DeletingCollection,
  request: DeleteRequest,
  signal: CancelSignal,
  times: StageTimes,
): Promise<number> {
  const { gate, progress, reads, schema, store, refresh } = collection;
  const { ids, where } = request;
  const matching = async (): Promise<StoreChange> => {
    await whenWarm(collection.logged);
    const { state, offsets } = await reads.selected(request, signal, times);
    throwIfAborted(signal);
    // Partitions may have come further than what is written on.
    if (store.head.sequence < state) await refresh?.();
    const chosen = await idsAt(offsets, collection);
    return remove(collection, chosen, { at: refresh === null ? undefined : state, signal });
  };
  let deleted = 0;
  await progress.track(async () => {
    const { head, removes } =
      where === null
        ? await gate.shared(() => remove(collection, ids ?? [], { schema, signal }))
        : await gate.exclusive(() => againWhileOutdated(matching));
    deleted = removes.length;
    return head.sequence;
  });
  return deleted;
}

/** Records that were chosen elsewhere; `null`: the collection is at another state by now, and nothing has changed. */
export async function deleteSelected(
  collection: DeletingCollection,
  { state, offsets }: SelectedRecords,
  signal: CancelSignal,
): Promise<number | null> {
  const { gate, progress } = collection;
  let removed = 0;
  try {
    await progress.track(async () => {
      const ids = await idsAt(offsets, collection);
      const change = await gate.shared(() => remove(collection, ids, { at: state, signal }));
      removed = change.removes.length;
      return change.head.sequence;
    });
    return removed;
  } catch (error) {
    if (isOutdated(error)) return null;
    throw error;
  }
}

/** Where another server has changed them since, they are chosen again. */
function idsAt(
  offsets: readonly number[],
  { store, logged }: DeletingCollection,
): readonly string[] | Promise<readonly string[]> {
  const asked = logged?.asked;
  return asked === undefined
    ? offsets.flatMap((offset) => store.read(offset)?.id ?? [])
    : asked.idsAt(offsets);
}

interface Removal {
  /** Where ids may stand for chunks. */
  readonly schema?: JsonObject;
  /** As `requireStill`. */
  readonly at?: number | undefined;
  readonly signal: CancelSignal;
}

function remove(
  { commit }: DeletingCollection,
  ids: readonly string[],
  { schema, at, signal }: Removal,
): Promise<StoreChange> {
  const isCut = schema !== undefined && chunkingOf(schema) !== null;
  return commit(
    (view) => {
      requireStill(view, at);
      return planRemove(view, ids, schema);
    },
    () => needsOfRemoval(ids, isCut),
    signal,
  );
}

/** Fills an index with all records of its store, in slices between which other work gets its turn. */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { CorruptDataError } from "../../storage/corrupt-data-error.ts";
import type { RecordStore, ScanOptions } from "../../storage/record-store.ts";
import { runInTurns } from "../../storage/steps.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import type { DamagedRecords } from "../damage/damaged-records.ts";
import type { OpeningProgress } from "./opening-progress.ts";
import type { SchemaInference } from "../schema-inference.ts";

export interface FilledIndex {
  readonly index: CollectionIndex;
  /** What is learnt of the records. */
  readonly kinds: SchemaInference;
  readonly progress: OpeningProgress;
  /** Whose slices it takes. */
  readonly tenant: string;
  /** Gets those that could not be read. */
  readonly damaged: DamagedRecords;
  readonly onProblem: (error: unknown) => void;
}

/** Throws where records are missing, and the damage of one that has no name of its own: it could never be deleted. */
export async function indexRecords(
  store: RecordStore,
  filled: FilledIndex,
  signal: CancelSignal,
): Promise<void> {
  const { index, damaged, onProblem } = filled;
  const damages = await fillIndex(store, filled, signal);
  store.requireWhole(index.size + damages.size);
  for (const [offset, damage] of damages) {
    const id = store.idAt(offset);
    if (id === null || index.position(id) !== null) throw damage;
    damaged.add(id, damage);
    onProblem(damage);
  }
  damaged.complete();
}

/** Returns the damage of the records that could not be read, by offset. */
async function fillIndex(
  store: RecordStore,
  { index, kinds, progress, tenant }: FilledIndex,
  signal: CancelSignal,
): Promise<ReadonlyMap<number, CorruptDataError>> {
  const damaged = new Map<number, CorruptDataError>();
  const options: ScanOptions = {
    onDamage: (offset, damage) => void damaged.set(offset, damage),
    // The index copies what it keeps.
    into: new Float32Array(store.head.dimension ?? 0),
  };
  const { sequence, nextOffset } = store.head;
  progress.rebuilding(nextOffset);
  const reached = (offset: number): void => progress.reached(Math.floor((sequence * offset) / nextOffset));
  const puts = storedRecords(store, { kinds, reached }, options);
  const steps = index.change({ removes: [], puts });
  await runInTurns(steps, { owner: tenant, onRunning: () => throwIfAborted(signal) });
  return damaged;
}

function* storedRecords(
  store: RecordStore,
  { kinds, reached }: { readonly kinds: SchemaInference; readonly reached: (offset: number) => void },
  options: ScanOptions,
): Generator<StoredRecord> {
  for (let from = 0; ;) {
    // The event loop may turn between two, and a scan ends within its turn.
    const [record] = store.scan(from, options);
    if (record === undefined) return;
    kinds.know(record);
    yield record;
    from = record.offset + 1;
    reached(from);
  }
}

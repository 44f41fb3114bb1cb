/**
 * Which records a batch put, as its change keys hold them: runs of operations one after another that put records one after
 * another. New records of a batch are one run, whatever their number; records that are replaced are mostly a run each.
 */
import type { DataOrigin } from "../corrupt-data-error.ts";
import { LOOKED_AT_PER_STEP } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { ValueReader } from "./value-reader.ts";
import { FRAME_BYTES, VALUE_KIND, type ValueWriter } from "./value-writer.ts";

/** Operation `sequence + i` put the record at `offset + i`, for i below `count`. */
export interface ChangeRun {
  readonly sequence: number;
  readonly offset: number;
  readonly count: number;
}

const RUN_BYTES = 8 + 8 + 4;
/** Fill one page of LMDB. */
const RUNS_PER_KEY = 200;

/** Of each change key of a batch, ascending; `null`: the next step begins. */
export function* changeRuns(puts: readonly StoredRecord[]): Generator<readonly ChangeRun[] | null, void> {
  let runs: ChangeRun[] = [];
  let run: { sequence: number; offset: number; count: number } | null = null;
  const ordered = yield* inOrder(puts);
  for (let i = 0; i < ordered.length; i++) {
    const { sequence, offset } = ordered[i]!;
    if (i % LOOKED_AT_PER_STEP === LOOKED_AT_PER_STEP - 1) yield null;
    if (run !== null && sequence === run.sequence + run.count && offset === run.offset + run.count) {
      run.count += 1;
      continue;
    }
    if (runs.length === RUNS_PER_KEY) {
      yield runs;
      runs = [];
    }
    run = { sequence, offset, count: 1 };
    runs.push(run);
  }
  if (runs.length > 0) yield runs;
}

/** Sequence number of the newest operation of the runs, by which their key is named. */
export function lastSequence(runs: readonly ChangeRun[]): number {
  const { sequence, count } = runs.at(-1)!;
  return sequence + count - 1;
}

export function encodeChangeRuns(writer: ValueWriter, runs: readonly ChangeRun[]): Uint8Array {
  writer.begin(VALUE_KIND.changes);
  for (const { sequence, offset, count } of runs) writer.u64(sequence).u64(offset).u32(count);
  return writer.finish();
}

/** @param last The sequence number in the key. */
export function decodeChangeRuns(value: Uint8Array, last: number, origin: DataOrigin): readonly ChangeRun[] {
  const reader = new ValueReader(value, VALUE_KIND.changes, origin);
  const runs: ChangeRun[] = [];
  let after = 0;
  for (let left = value.length - FRAME_BYTES; left > 0; left -= RUN_BYTES) {
    const run = { sequence: reader.u64(), offset: reader.u64(), count: reader.u32() };
    if (run.sequence <= after || run.count === 0) throw reader.fail("its operations do not ascend");
    after = run.sequence + run.count - 1;
    runs.push(run);
  }
  if (after !== last) throw reader.fail(`ends with operation ${after} under the key of ${last}`);
  return runs;
}

/** A record that a batch put twice has its newest number in its first place. */
function* inOrder(puts: readonly StoredRecord[]): Generator<null, readonly StoredRecord[]> {
  for (let i = 1; i < puts.length; i++) {
    if (puts[i]!.sequence <= puts[i - 1]!.sequence)
      return puts.toSorted((one, other) => one.sequence - other.sequence);
    if (i % LOOKED_AT_PER_STEP === 0) yield null;
  }
  return puts;
}

/**
 * Batches with a long record cross to the gateway as packed messages: encoded with turns of the event loop in between, their
 * documents and arrays beside them, in small frames and without a copy. What is short takes less time in one piece.
 */
import { packInTurns } from "@sheaf/process";
import type { CancelSignal } from "@sheaf/protocol";
import type { ResultBatch } from "../engine.ts";
import { recordBytes } from "../storage/values/record-bytes.ts";

const LONG_RECORD_BYTES = 256 * 1024;

/** Throws after an abort. */
export async function packIfLong(batch: ResultBatch, signal: CancelSignal): Promise<void> {
  const isLong = batch.lists.some((records) =>
    records.some((record) => recordBytes(record) > LONG_RECORD_BYTES),
  );
  if (isLong) await packInTurns(batch, signal);
}

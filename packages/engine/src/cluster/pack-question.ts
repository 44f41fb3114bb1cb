/**
 * Long questions to partitions are encoded once for all of them, with turns of the event loop in between, and go as those bytes,
 * in small frames; so do the ids that are asked for of one partition.
 */
import { packInTurns } from "@sheaf/process";
import { type CancelSignal, heapBytes } from "@sheaf/protocol";
import type { PartitionQuestion, SelectedIds } from "../query/partitioned/partition.ts";

/** What is shorter takes less time in one piece, for each partition. */
const LONG_BYTES = 16 * 1024;

/** Those that were packed, or are being packed. `false`: it is short. */
const packed = new WeakMap<object, Promise<boolean>>();

/** `true`: one of both is long. Throws after an abort. */
export async function packQuestion(
  question: PartitionQuestion,
  ids: SelectedIds,
  signal: CancelSignal | undefined,
): Promise<boolean> {
  const isLong = await packedOnce(question, signal);
  return (ids !== null && (await packedOnce(ids, signal))) || isLong;
}

function packedOnce(message: object, signal: CancelSignal | undefined): Promise<boolean> {
  let packing = packed.get(message);
  if (packing === undefined) packed.set(message, (packing = packIfLong(message, signal)));
  return packing;
}

async function packIfLong(message: object, signal: CancelSignal | undefined): Promise<boolean> {
  if (heapBytes(message) < LONG_BYTES) return false;
  await packInTurns(message, signal);
  return true;
}

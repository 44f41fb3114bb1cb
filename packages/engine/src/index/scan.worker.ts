/**
 * A thread that scans shared memory: one task at a time, stopped through the flag that came with the task.
 *
 * V8 counts shared memory in no thread's heap, so a thread that only scans never collects garbage and would keep
 * alive whatever it was ever sent. This one collects by itself once it was sent much memory that is new to it.
 */
import assert from "node:assert/strict";
import { parentPort } from "node:worker_threads";
import { collectGarbage } from "./collect-garbage.ts";
import { type DenseScan, scanSlices } from "../segment/dense-scan.ts";
import { type Nearest, TopK } from "../segment/top-k.ts";

export interface ScanTask {
  readonly scan: DenseScan;
  /** Not 0: stop. */
  readonly stop: Int32Array;
  /** Bytes of shared memory that this worker was not sent before. */
  readonly newBytes: number;
}

/** `null`: stopped. */
export type ScanReply = Nearest | null;

/** Memory that may stay behind. */
const MAX_UNCOLLECTED_BYTES = 32 * 2 ** 20;

assert(parentPort !== null, "scan.worker runs as a worker thread");
const port = parentPort;
let uncollectedBytes = 0;

port.on("message", (task: ScanTask) => {
  port.postMessage(run(task), []);
  uncollectedBytes += task.newBytes;
  // In a turn of its own, when nothing refers to the task any more.
  if (uncollectedBytes > MAX_UNCOLLECTED_BYTES) {
    uncollectedBytes = 0;
    setImmediate(collectGarbage);
  }
});

function run({ scan, stop }: ScanTask): ScanReply {
  const top = new TopK(scan.k);
  const slices = scanSlices(scan, top);
  while (slices.next().done !== true) {
    if (Atomics.load(stop, 0) !== 0) return null;
  }
  return top.sorted();
}

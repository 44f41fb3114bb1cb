/** A thread that scans shared memory: one task at a time, stopped through the flag that came with the task. */
import assert from "node:assert/strict";
import { parentPort } from "node:worker_threads";
import { type DenseScan, scanSlices } from "./dense-scan.ts";
import { type Nearest, TopK } from "./top-k.ts";

export interface ScanTask {
  readonly scan: DenseScan;
  /** Not 0: stop. */
  readonly stop: Int32Array;
}

/** `null`: stopped. */
export type ScanReply = Nearest | null;

assert(parentPort !== null, "scan.worker runs as a worker thread");
const port = parentPort;
port.on("message", (task: ScanTask) => {
  port.postMessage(run(task), []);
});

function run({ scan, stop }: ScanTask): ScanReply {
  const top = new TopK(scan.k);
  const slices = scanSlices(scan, top);
  while (slices.next().done !== true) {
    if (Atomics.load(stop, 0) !== 0) return null;
  }
  return top.sorted();
}

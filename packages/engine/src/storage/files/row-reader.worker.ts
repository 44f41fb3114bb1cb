/** The thread of `RowReader`: holds rows in shared memory to their checksums, and leaves them there without these. */
import assert from "node:assert/strict";
import { parentPort } from "node:worker_threads";
import { ROW_CHECKSUM_BYTES } from "./footer.ts";
import type { RowsReply, RowsToCheck } from "./row-reader.ts";
import { packRows } from "./row-section.ts";

assert(parentPort !== null, "row-reader.worker runs as a worker thread");
const port = parentPort;

port.on("message", ({ bytes, entry, first }: RowsToCheck) => {
  const count = bytes.length / (entry.rowBytes + ROW_CHECKSUM_BYTES);
  const isSound = packRows(bytes, entry, [first, first + count]);
  port.postMessage(isSound satisfies RowsReply, []);
});

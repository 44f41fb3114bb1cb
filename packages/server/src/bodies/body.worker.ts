/**
 * A thread that parses large bodies, one at a time. It dies of a body that needs more memory than it may take, which then
 * is the only one that is refused.
 */
import { parentPort } from "node:worker_threads";
import { packMessage } from "@sheaf/process";
import { SheafError, heapBytes } from "@sheaf/protocol";
import type { BodyOutcome, BodyTask } from "./body-message.ts";
import { parseBody } from "./body-parsers.ts";

parentPort?.on("message", (task: BodyTask) => {
  const outcome = run(task);
  const pieces = "packed" in outcome ? outcome.packed : [];
  parentPort?.postMessage(outcome, [...new Set(pieces.map(({ buffer }) => buffer as ArrayBuffer))]);
});

function run(task: BodyTask): BodyOutcome {
  try {
    const parsed = parseBody(joined(task.pieces), task);
    return { heapBytes: heapBytes(parsed), packed: packMessage(parsed).map(transferable) };
  } catch (error) {
    if (error instanceof SheafError) return { error: error.toMessage() };
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function joined(pieces: readonly ArrayBuffer[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(new Uint8Array(piece), at);
    at += piece.byteLength;
  }
  return bytes;
}

/** With memory of its own: what is transferred is gone for everybody else. */
function transferable(piece: Uint8Array): Uint8Array {
  return piece.byteLength === piece.buffer.byteLength && !Buffer.isBuffer(piece)
    ? piece
    : new Uint8Array(piece);
}

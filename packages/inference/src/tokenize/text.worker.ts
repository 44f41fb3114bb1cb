/** Thread of the text workers: one job at a time, in the order they come. */
import { parentPort } from "node:worker_threads";
import { type ErrorMessage, SheafError } from "@sheaf/protocol";
import { runTextJob, transferableBuffers } from "./run-text-job.ts";
import type { TextAnswer, TextJob } from "./text-jobs.ts";

/** One reply per job, in the order of the jobs. */
export type TextReply =
  | { readonly type: "answer"; readonly answer: TextAnswer }
  | { readonly type: "error"; readonly error: ErrorMessage; readonly detail: string };

parentPort?.on("message", (job: TextJob) => {
  try {
    const answer = runTextJob(job);
    parentPort?.postMessage({ type: "answer", answer } satisfies TextReply, transferableBuffers(answer));
  } catch (error) {
    const message: ErrorMessage =
      error instanceof SheafError ? error.toMessage() : { code: "internal", message: "internal error" };
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ type: "error", error: message, detail } satisfies TextReply, []);
  }
});

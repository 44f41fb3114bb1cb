/**
 * The owner's end of a thread that runs regular expressions (`regex.worker.ts`). What is asked of it is answered in
 * order. Once nobody waits for the answers any more it is given a moment to finish, and is ended if it does not.
 */
import type { Worker } from "node:worker_threads";
import { siblingModule, spawnWorker } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import type { RegexReplies, RegexTask } from "./regex.worker.ts";

interface Asked {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** To start another thread takes about as long. */
const GRACE_MS = 50;

export class RegexThread {
  readonly #worker: Worker;
  /** Oldest first; what was abandoned stays until it is answered. */
  readonly #asked: Asked[] = [];
  #cause: Error | null = null;
  /** Why nothing can be asked any more. */
  #ended: SheafError | null = null;
  #onQuiet: (() => void) | null = null;

  constructor() {
    this.#worker = spawnWorker(siblingModule(import.meta.url, "./regex.worker"), null);
    this.#worker.unref();
    this.#worker.on("message", (reply: unknown) => {
      this.#asked.shift()?.resolve(reply);
      if (this.#asked.length > 0) return;
      // A search keeps the process alive, an idle thread does not.
      this.#worker.unref();
      this.#onQuiet?.();
    });
    this.#worker.on("error", (error: Error) => {
      this.#cause = error;
    });
    this.#worker.on("exit", () => {
      this.#ended = endedError(this.#cause);
      this.abandon(this.#ended);
      this.#asked.length = 0;
      this.#onQuiet?.();
    });
  }

  get hasEnded(): boolean {
    return this.#ended !== null;
  }

  ask<Type extends RegexTask["type"]>(
    task: Extract<RegexTask, { type: Type }>,
    transferred: readonly ArrayBuffer[],
  ): Promise<RegexReplies[Type]> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#worker.ref();
      this.#asked.push({ resolve: resolve as Asked["resolve"], reject });
      this.#worker.postMessage(task, transferred);
    });
  }

  /** Nobody waits for what was asked. */
  abandon(reason: unknown): void {
    for (const { reject } of this.#asked) reject(reason);
  }

  /** Resolves once everything is answered, to whether that took more than a moment and the thread was ended. */
  async settle(): Promise<boolean> {
    if (this.#asked.length === 0) return this.hasEnded;
    const quiet = new Promise<void>((resolve) => (this.#onQuiet = resolve));
    const timer = setTimeout(() => void this.#worker.terminate(), GRACE_MS);
    await quiet;
    clearTimeout(timer);
    this.#onQuiet = null;
    return this.hasEnded;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

function endedError(cause: Error | null): SheafError {
  const message = "the thread that ran a regular expression ended; try again";
  return new SheafError("unavailable", message, { retryAfterSeconds: 1, cause });
}

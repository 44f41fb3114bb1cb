/**
 * Passes on what a child writes to stderr and keeps the end of it: what ends a process from inside, V8 and glibc, says
 * why there and nowhere else. A signal alone does not tell an exhausted heap from a damaged page.
 */
import type { Readable } from "node:stream";

/** V8 prints its reason before a stack trace of some 3 KiB. */
const KEPT_CHARACTERS = 16 * 1024;

export class StderrTail {
  #text = "";

  constructor(stderr: Readable) {
    stderr.on("data", (chunk: Buffer) => {
      process.stderr.write(chunk);
      this.#text = (this.#text + chunk.toString("latin1")).slice(-KEPT_CHARACTERS);
    });
  }

  get text(): string {
    return this.#text;
  }
}

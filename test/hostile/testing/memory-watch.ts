/**
 * Watches the anonymous resident memory of a process and all below it: what they hold beyond files that the kernel could
 * read again. Sampled from /proc, so a peak shorter than a sample can be missed.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { descendants } from "../../e2e/testing/served-sheaf.ts";

const SAMPLE_MS = 50;
/** Listing every process of the machine is dear; children come and go rarely. */
const SAMPLES_PER_LISTING = 10;
const KIB = 1024;
export const MIB = 1024 * KIB;

export class MemoryWatch {
  readonly #root: number;
  readonly #end = new AbortController();
  readonly #running: Promise<void>;
  #peak = 0;

  private constructor(root: number) {
    this.#root = root;
    this.#running = this.#sample();
  }

  static start(root: number): MemoryWatch {
    return new MemoryWatch(root);
  }

  /** Ends the watch and gives the highest sum seen, in bytes. */
  async stop(): Promise<number> {
    this.#end.abort();
    await this.#running;
    return this.#peak;
  }

  async #sample(): Promise<void> {
    let pids: readonly number[] = [];
    for (let i = 0; !this.#end.signal.aborted; i++) {
      if (i % SAMPLES_PER_LISTING === 0) {
        pids = [this.#root, ...(await descendants(this.#root)).map(({ pid }) => pid)];
      }
      const bytes = await Promise.all(pids.map(anonymousBytes));
      this.#peak = Math.max(
        this.#peak,
        bytes.reduce((sum, one) => sum + one, 0),
      );
      await sleep(SAMPLE_MS);
    }
  }
}

/** Anonymous and shared memory of one process; 0 for one that has ended. Memory shared by threads counts once. */
async function anonymousBytes(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    // A process that has ended and was not waited for has no such lines.
    const kib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "mu").exec(status)?.[1] ?? 0);
    return (kib("RssAnon") + kib("RssShmem")) * KIB;
  } catch {
    return 0;
  }
}

/**
 * Waiting awake. A process that sleeps in its event loop is woken by the kernel of another core: 40 to 60 microseconds
 * where cores are virtual (the other core has halted, and is interrupted through its hypervisor), and as much time of
 * the one who wakes it. One whose loop keeps turning has its message in 10. For when something is about to arrive, and
 * never for long: meanwhile it takes a core.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Of the control group that this process sees as its own: quota and period in microseconds. */
const QUOTA_FILE = "/sys/fs/cgroup/cpu.max";

export class BusyWait {
  #until = 0;
  #isTurning = false;

  /** The loop turns without sleeping from now on, for so long at most; a second call sets a new end. */
  begin(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(this.#turn);
  }

  end(): void {
    this.#until = 0;
  }

  readonly #turn = (): void => {
    if (performance.now() < this.#until) setImmediate(this.#turn);
    else this.#isTurning = false;
  };
}

/** Whether a process can wait awake and its children still have a core to work on. */
export function hasSpareCore(): boolean {
  return Math.min(availableParallelism(), quotaOf(readQuota())) >= 2;
}

/** Cores that a quota such as `200000 100000` or `max 100000` gives. */
export function quotaOf(text: string): number {
  const [quota, period] = text.trim().split(" ").map(Number);
  const cores = (quota ?? Number.NaN) / (period ?? Number.NaN);
  return Number.isNaN(cores) ? Number.POSITIVE_INFINITY : cores;
}

function readQuota(): string {
  try {
    return readFileSync(QUOTA_FILE, "utf8");
  } catch {
    // No control groups of the second version.
    return "";
  }
}

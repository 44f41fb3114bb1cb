/** The highest memory of a server in each phase of a run. */
import type { MemoryPeaks, WatchTask } from "../measure/memory-process.ts";
import { TaskProcess } from "../measure/task-process.ts";

export class MemoryPhases {
  readonly #sampler = new TaskProcess(new URL("../measure/memory-process.ts", import.meta.url));
  readonly #peaks: Record<string, MemoryPeaks> = {};
  #phase: string | null = null;

  /** MiB by phase. */
  get peaks(): Readonly<Record<string, MemoryPeaks>> {
    return this.#peaks;
  }

  /** From now on it is this phase, of the server with this process. */
  async begin(phase: string, root: number): Promise<void> {
    await this.#watch({ root });
    this.#phase = phase;
  }

  async end(): Promise<void> {
    await this.#watch({ root: null });
    this.#phase = null;
  }

  stop(): Promise<void> {
    return this.#sampler.stop();
  }

  async #watch(task: WatchTask): Promise<void> {
    const peaks = await this.#sampler.ask<MemoryPeaks>(task);
    if (this.#phase !== null) this.#peaks[this.#phase] = peaks;
  }
}

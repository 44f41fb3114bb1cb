/** Requests without a pause, until they are ended; a test says which. */
import { setTimeout as sleep } from "node:timers/promises";

/** Tells slow from hung. */
const PASSES_AFTER_MS = 60_000;

export abstract class Load {
  /** Statuses of what was refused, and what was said. */
  readonly refused: string[] = [];
  answers = 0;
  #isOver = false;
  readonly #workers: Promise<void>[] = [];

  /** Until so many more requests were answered. */
  async answered(more: number): Promise<void> {
    const until = this.answers + more;
    const deadline = performance.now() + PASSES_AFTER_MS;
    while (this.answers < until) {
      if (performance.now() > deadline)
        throw new Error(`no answers any more; refused: ${this.refused.at(-1)}`);
      await sleep(5);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
  }

  /** Does one round after the other. */
  protected repeat(round: (i: number) => Promise<void>): void {
    const work = async (): Promise<void> => {
      for (let i = 0; !this.#isOver; i++) await round(i);
    };
    this.#workers.push(work());
  }

  protected async count(response: Response): Promise<void> {
    const body = await response.text();
    if (response.ok) this.answers += 1;
    else this.refused.push(`${response.status} ${body}`);
  }
}

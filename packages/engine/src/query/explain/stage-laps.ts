/** What each stage of a call takes from one moment to the next: all searches of a call are measured together. */
import type { StageTimes } from "../stage-times.ts";

type Milliseconds = Readonly<Record<string, number>>;

export class StageLaps {
  readonly #times: StageTimes;
  #before: Milliseconds = {};

  constructor(times: StageTimes) {
    this.#times = times;
    this.restart();
  }

  restart(): void {
    this.#before = { ...this.#times.report().stages };
  }

  /** Milliseconds since the last restart, of the stages that took any. */
  lap(): Milliseconds {
    const taken: Record<string, number> = {};
    for (const [stage, total] of Object.entries(this.#times.report().stages)) {
      const milliseconds = total - (this.#before[stage] ?? 0);
      if (milliseconds > 0) taken[stage] = Math.round(milliseconds * 1_000) / 1_000;
    }
    return taken;
  }
}

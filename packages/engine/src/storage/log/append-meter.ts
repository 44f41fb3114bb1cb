/** Counts appends to logs, what became of them and how long they took. */
import type { AppendOutcome } from "./commit-log.ts";

export class AppendMeter {
  appends = 0;
  /** Of appends that were answered, with the wait for a standby. */
  seconds = 0;
  /** Another server was first, so that the write is planned anew. */
  moved = 0;
  /** Not answered, so that the writer looks what has become of it. */
  unknown = 0;

  async measure(append: () => Promise<AppendOutcome>): Promise<AppendOutcome> {
    const begun = performance.now();
    const outcome = await append();
    this.appends += 1;
    this.seconds += (performance.now() - begun) / 1_000;
    if (outcome === "moved") this.moved += 1;
    if (outcome === "unknown") this.unknown += 1;
    return outcome;
  }
}

/** Moments to kill a server at that a random time seldom meets. */
import { watch } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Choices } from "../choices.ts";
import type { LaneOperationKind } from "./lane-operations.ts";

export const KILL_MOMENTS = ["random", "roll", "fork", "drop", "grow", "create"] as const;
export type KillMoment = (typeof KILL_MOMENTS)[number];

const LONGEST_MS = 500;
/** After a question was sent. */
const LATEST_MS = 25;
/** Where it does not come, a random one does. */
const DEADLINE_MS = 5_000;

export class MomentWatch {
  readonly #moment: KillMoment;
  readonly #archive: string;
  readonly #choices: Choices;
  #isOn = false;
  #come = (): void => {};

  constructor(moment: KillMoment, archive: string, choices: Choices) {
    this.#moment = moment;
    this.#archive = archive;
    this.#choices = choices;
  }

  /** A lane sends something. */
  sent(kind: LaneOperationKind): void {
    if (this.#isOn && kind === this.#moment) this.#come();
  }

  /** Resolves when it is time. */
  async wait(): Promise<void> {
    await sleep(this.#choices.below(LONGEST_MS));
    if (this.#moment === "random") return;
    const come = new Promise<void>((resolve) => (this.#come = resolve));
    this.#isOn = true;
    const rolled = this.#moment === "roll" ? watch(this.#archive, () => this.#come()) : null;
    const late = new AbortController();
    try {
      await Promise.race([come, sleep(DEADLINE_MS, null, { signal: late.signal })]);
    } finally {
      late.abort();
      rolled?.close();
    }
    if (this.#moment !== "roll") await sleep(this.#choices.unit() * LATEST_MS);
  }
}

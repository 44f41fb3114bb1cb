/**
 * Sends the same random steps to two servers and compares every answer. A difference that nothing in
 * decided-deviations.ts explains ends the run; the steps before it are then shortened to those that are needed.
 */
import { Dice } from "../../fuzz/dice.ts";
import { type Answer, Contestant, type ServerAddress } from "./contestant.ts";
import { difference } from "./comparison.ts";
import { AVOIDED, EXPLAINED } from "./decided-deviations.ts";
import { type KnownState, stateAfter } from "./known-state.ts";
import { randomStep } from "./random-steps.ts";
import { type Step, printStep } from "./step.ts";

export interface DifferentialOptions {
  readonly theirs: ServerAddress;
  readonly ours: ServerAddress;
  readonly seed: number;
  readonly steps: number;
  /** No further step is begun after it. */
  readonly milliseconds: number;
}

export interface DifferentialResult {
  readonly steps: number;
  /** Name of a deviation -> how often it was met. */
  readonly explained: ReadonlyMap<string, number>;
  /** `null`: nothing differed that is not explained. */
  readonly failure: Failure | null;
}

interface Failure {
  readonly problem: string;
  /** The last one is that whose answers differ. */
  readonly steps: readonly Step[];
}

/** How long to look for fewer steps. */
const SHORTEN_MS = 60_000;

export async function runDifferential(options: DifferentialOptions): Promise<DifferentialResult> {
  const explained = new Map<string, number>();
  const pair = await Pair.enter(options);
  const dice = new Dice(options.seed);
  const sent: Step[] = [];
  const until = performance.now() + options.milliseconds;
  while (sent.length < options.steps && performance.now() < until) {
    const step = randomStep(pair.state, dice);
    if (pair.avoids(step)) continue;
    sent.push(step);
    const problem = await pair.perform(step, (name) => explained.set(name, (explained.get(name) ?? 0) + 1));
    if (problem === null) continue;
    const failure = await shortened({ problem, steps: sent }, options);
    return { steps: sent.length, explained, failure };
  }
  return { steps: sent.length, explained, failure: null };
}

export function printFailure({ problem, steps }: Failure): string {
  return [...steps.map(printStep), `  -> ${problem}`].join("\n");
}

/** The same steps, without those that the difference does not need. */
async function shortened(failure: Failure, options: DifferentialOptions): Promise<Failure> {
  const until = performance.now() + SHORTEN_MS;
  let best = failure;
  const last = failure.steps.at(-1) as Step;
  const sameSlot = failure.steps.filter(({ slot }) => slot === last.slot);
  best = (await replayed(sameSlot, options)) ?? best;
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < best.steps.length - 1 && performance.now() < until;) {
      const end = Math.min(from + size, best.steps.length - 1);
      const fewer = await replayed([...best.steps.slice(0, from), ...best.steps.slice(end)], options);
      if (fewer === null) from += size;
      else best = fewer;
    }
  }
  return best;
}

/** The failure that these steps end in, at the last of them; `null`: they do not. */
async function replayed(steps: readonly Step[], options: DifferentialOptions): Promise<Failure | null> {
  const pair = await Pair.enter(options);
  for (const [place, step] of steps.entries()) {
    if (pair.avoids(step)) return null;
    const problem = await pair.perform(step, () => {});
    if (problem !== null) return place === steps.length - 1 ? { problem, steps } : null;
  }
  return null;
}

let databases = 0;

/** Both servers, each with an empty database. */
class Pair {
  state: KnownState = new Map();
  readonly #theirs: Contestant;
  readonly #ours: Contestant;

  private constructor(theirs: Contestant, ours: Contestant) {
    this.#theirs = theirs;
    this.#ours = ours;
  }

  static async enter({ theirs, ours }: DifferentialOptions): Promise<Pair> {
    const database = `run-${process.pid}-${++databases}`;
    return new Pair(await Contestant.enter(theirs, database), await Contestant.enter(ours, database));
  }

  avoids(step: Step): boolean {
    return AVOIDED.some((avoided) => avoided.avoids(step, this.state));
  }

  /** What differs; `null`: nothing, or what is explained. */
  async perform(step: Step, onExplained: (name: string) => void): Promise<string | null> {
    const [theirs, ours] = await Promise.all([this.#theirs.perform(step), this.#ours.perform(step)]);
    const problem = difference(step, theirs, ours);
    this.state = stateAfter(this.state, step, ours, await this.#idsOf(step, ours));
    if (problem === null) return null;
    const deviation = EXPLAINED.find((known) => known.explains({ step, theirs, ours }));
    if (deviation === undefined) return problem;
    onExplained(deviation.name);
    return null;
  }

  async #idsOf({ slot, verb }: Step, { status }: Answer): Promise<readonly string[]> {
    if (status >= 300 || verb === "drop") return [];
    const { body } = await this.#ours.perform({ verb: "get", slot, body: { include: [] } });
    return (body as { readonly ids?: readonly string[] }).ids ?? [];
  }
}

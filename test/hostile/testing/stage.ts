/**
 * What every test of this lane needs: the built server with default settings, an attacker, a bystander, and the judgement
 * of what happened to the server and to the bystander meanwhile.
 */
import { expect } from "vitest";
import { descendants, type ServeOptions, ServedSheaf } from "../../e2e/testing/served-sheaf.ts";
import { type Answered, Bystander } from "./bystander.ts";
import { MIB, MemoryWatch } from "./memory-watch.ts";
import { type Tenant, createTenant } from "./tenant.ts";

const ENGINE_HOST = /engine-host\.(?:js|ts)/u;
/** No answer that the bystander gets may take longer. */
const SLOWEST_ANSWER_MS = 2_000;

export interface Outcome<T> {
  readonly value: T;
  /** Highest sum of anonymous memory over all processes of the server. */
  readonly peakBytes: number;
  readonly answers: readonly Answered[];
}

export class Stage {
  readonly served: ServedSheaf;
  readonly attacker: Tenant;
  readonly bystander: Bystander;

  private constructor(served: ServedSheaf, attacker: Tenant, bystander: Bystander) {
    this.served = served;
    this.attacker = attacker;
    this.bystander = bystander;
  }

  static async open(options: ServeOptions = {}): Promise<Stage> {
    const served = await ServedSheaf.start(options);
    return new Stage(served, await createTenant(served, "attacker"), await Bystander.settle(served));
  }

  /**
   * Runs `work` while the bystander asks, and expects that no process of the server ended, that it stayed within
   * `withinMib`, and that every answer of the bystander was right and none slow.
   */
  async unharmed<T>(withinMib: number, work: () => Promise<T>): Promise<Outcome<T>> {
    const before = await this.hostPid();
    const { value, answers, peakBytes } = await this.#watched(work);
    report(peakBytes, answers);
    expect(await this.hostPid(), "the engine host was not started again").toBe(before);
    expect(peakBytes / MIB, "anonymous memory in MiB").toBeLessThan(withinMib);
    expect(answers.flatMap(({ fault }) => fault ?? [])).toEqual([]);
    const slow = answers.filter(({ milliseconds }) => milliseconds > SLOWEST_ANSWER_MS);
    expect(slow).toEqual([]);
    return { value, peakBytes, answers };
  }

  async #watched<T>(work: () => Promise<T>): Promise<Outcome<T>> {
    const watch = MemoryWatch.start(this.served.pid);
    try {
      const outcome = await this.bystander.during(work);
      return { ...outcome, peakBytes: await watch.stop() };
    } finally {
      await watch.stop();
    }
  }

  async hostPid(): Promise<number> {
    const hosts = (await descendants(this.served.pid)).filter(({ command }) => ENGINE_HOST.test(command));
    if (hosts.length !== 1) throw new Error(`${hosts.length} engine hosts run: ${this.served.output}`);
    return hosts[0]!.pid;
  }

  close(): Promise<void> {
    return this.served.dispose();
  }
}

/** With HOSTILE_FIGURES=1, what is measured beside what is asserted. */
function report(peakBytes: number, answers: readonly Answered[]): void {
  if (process.env["HOSTILE_FIGURES"] === undefined) return;
  const { currentTestName } = expect.getState();
  const worst = answers.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, 3);
  const times = worst.map(({ question, milliseconds }) => `${question} ${Math.round(milliseconds)} ms`);
  console.log(
    `${currentTestName}: ${Math.round(peakBytes / MIB)} MiB, worst of ${answers.length}: ${times.join(", ")}`,
  );
}

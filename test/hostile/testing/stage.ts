/**
 * What every test of this lane needs: the built server with default settings (but for the time of a request), an attacker,
 * a bystander, and the judgement of what happened to the server and to the bystander meanwhile.
 */
import { expect } from "vitest";
import { descendants, type ServeOptions, ServedSheaf } from "../../e2e/testing/served-sheaf.ts";
import { type Answered, Bystander } from "./bystander.ts";
import { MIB, MemoryWatch } from "./memory-watch.ts";
import { type LongestTurns, SliceWatch } from "./slice-watch.ts";
import { type Tenant, createTenant } from "./tenant.ts";

/** What has to be answered, however large, is, also on a machine that takes ten times as long. */
const HUNG_SECONDS = "240";
const ENGINE_HOST = /engine-host\.(?:js|ts)/u;
/** No answer that the bystander gets may take longer. */
export const SLOWEST_ANSWER_MS = 2_000;
/**
 * Longest turn of an event loop, by processor time. The goal is 10 ms, and `npm run bench:fair` measures it; this tells
 * work in slices from work in one piece, which took 6 to 15 s, also on a machine that is several times slower.
 */
export const LONGEST_TURN_MS = 2_000;

export interface Outcome<T> {
  readonly value: T;
  /** Highest sum of anonymous memory over all processes of the server. */
  readonly peakBytes: number;
  readonly answers: readonly Answered[];
  readonly turns: LongestTurns;
}

export class Stage {
  readonly served: ServedSheaf;
  readonly attacker: Tenant;
  readonly bystander: Bystander;

  readonly #slices: SliceWatch;

  private constructor(served: ServedSheaf, slices: SliceWatch, attacker: Tenant, bystander: Bystander) {
    this.served = served;
    this.#slices = slices;
    this.attacker = attacker;
    this.bystander = bystander;
  }

  static async open(options: ServeOptions = {}): Promise<Stage> {
    const slices = await SliceWatch.create();
    const env = { SHEAF_REQUEST_SECONDS: HUNG_SECONDS, ...slices.environment, ...options.env };
    const served = await ServedSheaf.start({ ...options, env });
    const attacker = await createTenant(served, "attacker");
    return new Stage(served, slices, attacker, await Bystander.settle(served));
  }

  /**
   * Runs `work` while the bystander asks, and expects that no process of the server ended, that it stayed within
   * `withinMib`, that no turn of the gateway's loop was long, and that every answer of the bystander was right and none slow.
   */
  async unharmed<T>(withinMib: number, work: () => Promise<T>): Promise<Outcome<T>> {
    const before = await this.hostPid();
    const { value, answers, peakBytes, turns } = await this.#watched(work);
    report(peakBytes, answers);
    expect(await this.hostPid(), "the engine host was not started again").toBe(before);
    expect(peakBytes / MIB, "anonymous memory in MiB").toBeLessThan(withinMib);
    expect(turns.gateway, "processor time of a turn of the gateway in ms").toBeLessThan(LONGEST_TURN_MS);
    expect(answers.flatMap(({ fault }) => fault ?? [])).toEqual([]);
    const slow = answers.filter(({ milliseconds }) => milliseconds > SLOWEST_ANSWER_MS);
    expect(slow).toEqual([]);
    return { value, peakBytes, answers, turns };
  }

  async #watched<T>(work: () => Promise<T>): Promise<Outcome<T>> {
    const watch = MemoryWatch.start(this.served.pid);
    const since = Date.now();
    try {
      const outcome = await this.bystander.during(work);
      return { ...outcome, peakBytes: await watch.stop(), turns: await this.turnsSince(since) };
    } finally {
      await watch.stop();
    }
  }

  /** The value of one line of the metrics; `NaN` without such a line. @param line Its name and labels. */
  async metric(line: string): Promise<number> {
    const text = await (await this.served.request("/metrics")).text();
    const found = text.split("\n").find((one) => one.startsWith(`${line} `));
    return Number(found?.slice(line.length));
  }

  /** The longest turns of the event loops since then; nothing is known of a server with Node options of its own. */
  turnsSince(time: number): Promise<LongestTurns> {
    return this.#slices.longest(time);
  }

  async hostPid(): Promise<number> {
    const hosts = (await descendants(this.served.pid)).filter(({ command }) => ENGINE_HOST.test(command));
    if (hosts.length !== 1) throw new Error(`${hosts.length} engine hosts run: ${this.served.output}`);
    return hosts[0]!.pid;
  }

  async close(): Promise<void> {
    await this.served.dispose();
    await this.#slices.dispose();
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

/**
 * One fuzz run: a real server, `requests` requests of a seed over real connections, and what was wrong. Requests that
 * failed once (the fixtures) go first. Between rounds everything that requests have made is removed, which is also
 * when memory is looked at.
 */
import { readFileSync, readdirSync } from "node:fs";
import { ownMebibytes } from "../../benchmarks/measure/process-tree.ts";
import { ServedSheaf, descendants } from "../e2e/testing/served-sheaf.ts";
import { judge, ANSWER_MS } from "./judge-answer.ts";
import { Playground } from "./playground.ts";
import { RequestGenerator } from "./request-generator.ts";
import { type RouteGrammar, routeGrammars } from "./route-grammar.ts";
import { WireConnection } from "./wire-connection.ts";
import {
  type Placeholders,
  type RequestFixture,
  type WireRequest,
  fromFixture,
  isFramed,
  requestBytes,
  toFixture,
} from "./wire-request.ts";

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** `METHOD /pattern`: only this route. */
  readonly route?: string | undefined;
  readonly onProgress?: (done: number) => void;
}

export interface FuzzFailure extends RequestFixture {
  /** Which request of the seed; `null`: a fixture. */
  readonly index: number | null;
  /** The one before it on its connection. */
  readonly after: number | null;
}

export interface FuzzReport {
  readonly sent: number;
  readonly seconds: number;
  /** Status or what came instead -> how often. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Of the answer that took longest. */
  readonly slowest: {
    readonly milliseconds: number;
    readonly index: number | null;
    readonly request: string;
  };
  readonly failures: readonly FuzzFailure[];
  /** MiB of the process tree with all collections removed: after a third, and at the end. */
  readonly memory: { readonly early: number; readonly late: number };
  /** Route -> status or what came instead -> how often. */
  readonly byRoute: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** What the server has logged: errors only. */
  readonly log: string;
}

export const FIXTURES = new URL("fixtures/", import.meta.url);
const CONNECTIONS = 8;
/** Requests between two times of tidying up. */
const ROUND = 1_000;
/** A run ends early with so many failures: more of them say nothing new. */
const ENOUGH_FAILURES = 20;

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const all = await routeGrammars(options.seed);
  const grammars = all.filter((grammar) => [undefined, routeName(grammar)].includes(options.route));
  if (grammars.length === 0) throw new Error(`there is no route ${options.route}`);
  const served = await ServedSheaf.start({ args: ["--auth", "on"], env: { SHEAF_LOG_LEVEL: "error" } });
  try {
    return await new FuzzRun(served, grammars, options).run();
  } finally {
    await served.dispose();
  }
}

class FuzzRun {
  readonly #served: ServedSheaf;
  readonly #playground: Playground;
  readonly #generator: RequestGenerator;
  readonly #options: FuzzOptions;
  readonly #connections: readonly WireConnection[];
  readonly #outcomes: Record<string, number> = {};
  readonly #before = new Map<WireConnection, number | null>();
  readonly #byRoute: Record<string, Record<string, number>>;
  readonly #failures: FuzzFailure[] = [];
  #placeholders: Placeholders = {};
  #sent = 0;
  #slowest: FuzzReport["slowest"] = { milliseconds: 0, index: null, request: "" };

  constructor(served: ServedSheaf, grammars: readonly RouteGrammar[], options: FuzzOptions) {
    this.#served = served;
    this.#byRoute = Object.fromEntries(grammars.map((grammar) => [routeName(grammar), {}]));
    this.#options = options;
    this.#playground = new Playground(served);
    this.#generator = new RequestGenerator(options.seed, grammars);
    const port = Number(new URL(served.url).port);
    this.#connections = Array.from({ length: CONNECTIONS }, () => new WireConnection(port));
  }

  async run(): Promise<FuzzReport> {
    const { requests } = this.#options;
    const startedAt = performance.now();
    const host = await this.#hostPid();
    await this.#playground.keep();
    this.#placeholders = await this.#playground.furnish();
    await this.#replayFixtures();
    let early = 0;
    for (let from = 0; from < requests && !this.#enough; from += ROUND) {
      await this.#round(from, Math.min(from + ROUND, requests));
      await this.#playground.clear();
      if (early === 0 && from + ROUND >= requests / 3) early = await ownMebibytes(this.#served.pid);
      this.#placeholders = await this.#playground.furnish();
      this.#options.onProgress?.(Math.min(from + ROUND, requests));
    }
    for (const connection of this.#connections) connection.close();
    await this.#playground.clear();
    await this.#playground.checkKept();
    if ((await this.#hostPid()) !== host)
      throw new Error(`the engine host has died:\n${this.#served.output}`);
    return this.#report(startedAt, { early, late: await ownMebibytes(this.#served.pid) });
  }

  get #enough(): boolean {
    return this.#failures.length >= ENOUGH_FAILURES;
  }

  #report(startedAt: number, memory: FuzzReport["memory"]): FuzzReport {
    return {
      sent: this.#sent,
      seconds: (performance.now() - startedAt) / 1_000,
      outcomes: this.#outcomes,
      slowest: this.#slowest,
      failures: this.#failures,
      memory,
      byRoute: this.#byRoute,
      log: this.#served.output,
    };
  }

  async #replayFixtures(): Promise<void> {
    const [connection] = this.#connections;
    for (const name of readdirSync(FIXTURES).filter((file) => file.endsWith(".json"))) {
      const fixture = JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8")) as RequestFixture;
      const request = fromFixture(fixture);
      if (connection !== undefined) await this.#ask(connection, { request }, null);
    }
  }

  /** Every connection takes the next request as soon as it has an answer. */
  async #round(from: number, to: number): Promise<void> {
    let next = from;
    const work = this.#connections.map(async (connection) => {
      while (next < to && !this.#enough) {
        const index = next++;
        await this.#ask(connection, this.#generator.make(index), index);
      }
    });
    await Promise.all(work);
  }

  async #ask(
    connection: WireConnection,
    made: { readonly request: WireRequest; readonly grammar?: RouteGrammar; readonly onRoute?: boolean },
    index: number | null,
  ): Promise<void> {
    const { request, grammar } = made;
    const startedAt = performance.now();
    const outcome = await connection.send(requestBytes(request, this.#placeholders), {
      method: request.method,
      last: !isFramed(request),
      timeoutMs: ANSWER_MS,
    });
    const milliseconds = performance.now() - startedAt;
    if (milliseconds > this.#slowest.milliseconds) {
      this.#slowest = { milliseconds, index, request: `${request.method} ${request.path}` };
    }
    this.#sent++;
    const name = typeof outcome === "string" ? outcome : String(outcome.status);
    countUp(this.#outcomes, name);
    if (grammar !== undefined) countUp(this.#byRoute[routeName(grammar)] ?? {}, name);
    const fault = judge(made, outcome);
    if (fault !== null) {
      this.#failures.push({
        index,
        after: this.#before.get(connection) ?? null,
        ...toFixture(request, fault),
      });
    }
    this.#before.set(connection, index);
  }

  async #hostPid(): Promise<number> {
    const host = (await descendants(this.#served.pid)).find(({ command }) => /engine-host/u.test(command));
    if (host === undefined) throw new Error("there is no engine host");
    return host.pid;
  }
}

function routeName({ method, path }: RouteGrammar): string {
  return `${method} ${path}`;
}

function countUp(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

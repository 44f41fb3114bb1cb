/** One run: collections are filled, then requests of all kinds go out at a steady rate, each answer is compared. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { anonymousMebibytes } from "../../benchmarks/measure/process-tree.ts";
import { seededRandom } from "../../benchmarks/measure/random.ts";
import { ServedSheaf, descendants } from "../e2e/testing/served-sheaf.ts";
import type { Sample } from "./growth.ts";
import { SoakedCollection } from "./soaked-collection.ts";

const RECORDS = 500;
const BATCH = 10;
/** Of all requests; the others read. */
const WRITES = 0.4;
/** Forks that live at a time; one more takes the place of the oldest. */
const FORKS = 4;
const REQUESTS_PER_FORK = 500;
const BYTES_PER_MEBIBYTE = 2 ** 20;

export interface SoakOptions {
  readonly minutes: number;
  readonly collections: number;
  /** Requests per second. */
  readonly rate: number;
  readonly seed: number;
  readonly sampleMs: number;
  readonly log: (line: string) => void;
}

export interface SoakResult {
  readonly samples: readonly Sample[];
  readonly requests: number;
  /** Of them, how often the server asked for patience (503). */
  readonly putOff: number;
  /** Wrong answers and requests that failed. */
  readonly problems: readonly string[];
}

export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const served = await ServedSheaf.start();
  const sampler = new Sampler(served, options);
  try {
    const soak = new Soak(served, options);
    await soak.fill();
    const sampling = sampler.run();
    await soak.run(performance.now() + options.minutes * 60_000);
    sampler.stop();
    await sampling;
    const { requests, putOff, problems } = soak;
    return { samples: sampler.samples, requests, putOff, problems };
  } finally {
    sampler.stop();
    await served.dispose();
  }
}

class Soak {
  readonly #served: ServedSheaf;
  readonly #options: SoakOptions;
  readonly #random: () => number;
  readonly #collections: SoakedCollection[] = [];
  readonly #forks: SoakedCollection[] = [];
  /** One request on a collection at a time: what it has to answer is known. */
  readonly #busy = new Set<SoakedCollection>();
  readonly #underWay = new Set<Promise<void>>();
  readonly problems: string[] = [];
  requests = 0;
  putOff = 0;

  constructor(served: ServedSheaf, options: SoakOptions) {
    this.#served = served;
    this.#options = options;
    this.#random = seededRandom(options.seed);
  }

  async fill(): Promise<void> {
    const onPutOff = (): void => void this.putOff++;
    for (let i = 0; i < this.#options.collections; i++) {
      const options = { served: this.#served, name: `soaked-${i}`, random: this.#random, onPutOff };
      this.#collections.push(await SoakedCollection.make(options, RECORDS));
    }
  }

  async run(until: number): Promise<void> {
    const start = performance.now();
    for (let tick = 1; performance.now() < until; tick++) {
      this.#begin();
      await sleep(Math.max(0, start + (tick * 1_000) / this.#options.rate - performance.now()));
    }
    await Promise.all(this.#underWay);
    for (const collection of this.#collections) await this.#attempt(() => collection.count());
  }

  #begin(): void {
    const free = [...this.#collections, ...this.#forks].filter((one) => !this.#busy.has(one));
    const collection = free[Math.floor(this.#random() * free.length)];
    if (collection === undefined) return;
    this.#busy.add(collection);
    const isFork = this.requests % REQUESTS_PER_FORK === REQUESTS_PER_FORK - 1;
    const request = this.#attempt(() => (isFork ? this.#fork(collection) : this.#request(collection)));
    this.#underWay.add(request);
    void request.finally(() => {
      this.#busy.delete(collection);
      this.#underWay.delete(request);
    });
  }

  async #attempt(request: () => Promise<void>): Promise<void> {
    this.requests++;
    try {
      await request();
    } catch (error) {
      this.problems.push(String(error));
    }
  }

  async #request(collection: SoakedCollection): Promise<void> {
    const choice = this.#random();
    if (choice < WRITES / 2) return collection.replace(BATCH);
    if (choice < WRITES) {
      await collection.add(BATCH);
      return collection.removeOldest(BATCH);
    }
    const read = (choice - WRITES) / (1 - WRITES);
    if (read < 0.4) return collection.search();
    if (read < 0.6) return collection.queryTopic();
    return read < 0.9 ? collection.get() : collection.count();
  }

  async #fork(source: SoakedCollection): Promise<void> {
    const oldest = this.#forks.length === FORKS ? this.#forks[0] : undefined;
    if (oldest !== undefined && !this.#busy.has(oldest)) {
      this.#forks.shift();
      await oldest.drop();
    }
    if (this.#forks.length < FORKS) this.#forks.push(await source.fork(`fork-${this.requests}`));
  }
}

class Sampler {
  readonly #served: ServedSheaf;
  readonly #options: SoakOptions;
  readonly samples: Sample[] = [];
  readonly #stopping = new AbortController();

  constructor(served: ServedSheaf, options: SoakOptions) {
    this.#served = served;
    this.#options = options;
  }

  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const mebibytes = new Map([
        ...(await this.#memory()),
        ["disk", await diskMebibytes(this.#served.data)],
      ]);
      this.samples.push({ at: performance.now(), mebibytes });
      this.#options.log([...mebibytes].map(([name, value]) => `${name} ${value.toFixed(1)}`).join(", "));
      await sleep(this.#options.sampleMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Anonymous and shared, of each process. */
  async #memory(): Promise<[string, number][]> {
    const children = await descendants(this.#served.pid);
    const processes = [{ pid: this.#served.pid, name: "gateway" }].concat(
      children.map(({ pid, command }) => ({
        pid,
        name: /([\w-]+)\.[mc]?[jt]s/u.exec(command)?.[1] ?? command,
      })),
    );
    return Promise.all(
      processes.map(async ({ pid, name }): Promise<[string, number]> => [
        `${name} ${pid}`,
        await anonymousMebibytes(pid),
      ]),
    );
  }
}

/** What the folder takes of the disk; a file with several names counts once. */
async function diskMebibytes(folder: string): Promise<number> {
  const seen = new Map<number, number>();
  for (const entry of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, entry)).catch(() => null);
    if (found?.isFile() === true) seen.set(found.ino, found.blocks * 512);
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0) / BYTES_PER_MEBIBYTE;
}

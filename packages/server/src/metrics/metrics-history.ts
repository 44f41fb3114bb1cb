/**
 * What the last hour was like, for a person who looks: requests and the time of stages in intervals of ten seconds, kept in
 * memory. Nothing runs by a timer: an interval ends with the first thing that is measured, or asked for, after it.
 * Quantiles are estimated inside buckets that grow by a fifth, so that they are right to within a tenth.
 */

/** One interval in which something was measured. */
export interface HistoryInterval {
  /** Milliseconds since 1970 at which it began. */
  readonly from: number;
  readonly requests: number;
  /** Answers of 400 to 499, and of 500 and more. */
  readonly refused: number;
  readonly failed: number;
  readonly tokens: number;
  /** Of whole requests, by the name `request`, and of their stages. */
  readonly stages: Readonly<Record<string, StageTimes>>;
}

export interface StageTimes {
  readonly count: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
}

const INTERVAL_SECONDS = 10;
const INTERVAL_MS = INTERVAL_SECONDS * 1_000;
const INTERVALS = 360;
/** There are some forty; a bound for names to come. */
const MOST_STAGES = 100;
const GROWTH = 1.2;
const SHORTEST_MS = 0.05;
/** The last one holds what is longer than about an hour. */
const BUCKETS = 100;
const REQUEST = "request";
const FIRST_REFUSAL = 400;
const FIRST_FAILURE = 500;

interface OpenInterval {
  readonly from: number;
  requests: number;
  refused: number;
  failed: number;
  tokens: number;
  readonly stages: Map<string, Uint32Array>;
}

export class MetricsHistory {
  readonly intervalSeconds = INTERVAL_SECONDS;
  readonly #now: () => number;
  readonly #ended: HistoryInterval[] = [];
  #open: OpenInterval;

  /** @param now Milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#open = emptyInterval(beginOf(now()));
  }

  request(status: number, seconds: number): void {
    const interval = this.#current();
    interval.requests += 1;
    if (status >= FIRST_FAILURE) interval.failed += 1;
    else if (status >= FIRST_REFUSAL) interval.refused += 1;
    count(interval, REQUEST, seconds);
  }

  stage(name: string, seconds: number): void {
    count(this.#current(), name, seconds);
  }

  tokens(number: number): void {
    this.#current().tokens += number;
  }

  /** Of the last hour, the oldest first and without the one that goes on; those in which nothing was measured are left out. */
  get intervals(): readonly HistoryInterval[] {
    this.#current();
    this.#dropOld();
    return [...this.#ended];
  }

  #current(): OpenInterval {
    const from = beginOf(this.#now());
    // A clock that is set back goes on with the interval there is.
    if (from <= this.#open.from) return this.#open;
    if (this.#open.stages.size > 0 || this.#open.tokens > 0) this.#ended.push(closed(this.#open));
    this.#open = emptyInterval(from);
    this.#dropOld();
    return this.#open;
  }

  #dropOld(): void {
    const oldest = this.#open.from - INTERVALS * INTERVAL_MS;
    while (this.#ended[0] !== undefined && this.#ended[0].from < oldest) this.#ended.shift();
  }
}

function beginOf(at: number): number {
  return Math.floor(at / INTERVAL_MS) * INTERVAL_MS;
}

function emptyInterval(from: number): OpenInterval {
  return { from, requests: 0, refused: 0, failed: 0, tokens: 0, stages: new Map() };
}

function count({ stages }: OpenInterval, name: string, seconds: number): void {
  let buckets = stages.get(name);
  if (buckets === undefined) {
    if (stages.size >= MOST_STAGES) return;
    stages.set(name, (buckets = new Uint32Array(BUCKETS)));
  }
  const bucket = Math.ceil(Math.log((seconds * 1_000) / SHORTEST_MS) / Math.log(GROWTH));
  buckets[Math.min(BUCKETS - 1, Math.max(0, bucket))]! += 1;
}

function closed({ stages, ...counts }: OpenInterval): HistoryInterval {
  const times = [...stages].map(([name, buckets]) => [name, timesOf(buckets)] as const);
  return Object.freeze({ ...counts, stages: Object.fromEntries(times) });
}

function timesOf(buckets: Uint32Array): StageTimes {
  const all = buckets.reduce((sum, number) => sum + number, 0);
  return { count: all, p50: quantile(buckets, all / 2), p95: quantile(buckets, all * 0.95) };
}

/** The middle of the bucket in which the `rank`-th of all lies. */
function quantile(buckets: Uint32Array, rank: number): number {
  let below = 0;
  const found = buckets.findIndex((number) => (below += number) >= rank);
  return Number((SHORTEST_MS * GROWTH ** (Math.max(0, found) - 0.5)).toPrecision(3));
}

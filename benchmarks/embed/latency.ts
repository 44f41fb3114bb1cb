/** What a single short text waits: on an idle server, and while a request of a thousand texts runs. */
import { seededRandom } from "../measure/random.ts";
import { median, quantile } from "../measure/statistics.ts";
import type { ForkedServer } from "./forked-server.ts";
import type { GatewayReport } from "./gateway-messages.ts";
import { logNormalWorkload, textOf } from "./workload.ts";

const SINGLE_TOKENS = 16;
const BULK_TEXTS = 1_000;
const SEED = 77;

export interface LatencyOptions {
  readonly idleTexts: number;
  /** Requests of a thousand texts, one after the other. */
  readonly bulkRequests: number;
}

export interface Latency {
  /** Milliseconds of each single text. */
  readonly idle: readonly number[];
  readonly duringBulk: readonly number[];
  /** Median duration of the bulk request's micro-batches. */
  readonly microBatchMs: number;
  readonly loopDelayMs: GatewayReport["loopDelayMs"];
}

export async function measureLatency(server: ForkedServer, options: LatencyOptions): Promise<Latency> {
  const random = seededRandom(SEED);
  const single = async (): Promise<number> => {
    const startedAt = performance.now();
    await server.embed([textOf(SINGLE_TOKENS, random)]);
    return performance.now() - startedAt;
  };
  const idle: number[] = [];
  for (let text = 0; text < options.idleTexts; text++) idle.push(await single());
  const { texts } = logNormalWorkload(BULK_TEXTS, SEED);
  await server.report();
  const duringBulk: number[] = [];
  for (let request = 0; request < options.bulkRequests; request++) {
    const bulk = { running: true };
    const done = server.embed(texts).finally(() => (bulk.running = false));
    while (bulk.running) duringBulk.push(await single());
    await done;
  }
  const { batches, loopDelayMs } = await server.report();
  const bulkBatches = batches.filter(({ lengths }) => lengths.length > 1 || lengths[0] !== SINGLE_TOKENS);
  const microBatchMs = median(bulkBatches.map(({ elapsedMs }) => elapsedMs));
  return { idle, duringBulk, microBatchMs, loopDelayMs };
}

/** `p50 / p99`, milliseconds. */
export function halfAndWorst(latencies: readonly number[]): string {
  return `${quantile(latencies, 0.5).toFixed(1)} / ${quantile(latencies, 0.99).toFixed(1)}`;
}

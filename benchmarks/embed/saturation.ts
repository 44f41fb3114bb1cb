/** How fast a server embeds while it never lacks work. */
import { sum } from "../measure/statistics.ts";
import type { ForkedServer } from "./forked-server.ts";
import type { Workload } from "./workload.ts";

const TEXTS_PER_REQUEST = 128;
/** Requests under way at once, so that hundreds of texts wait while one batch runs. */
const CALLERS = 4;

export interface Throughput {
  readonly tokens: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/** Sends the whole workload. Throws if the server counts other tokens than the workload holds. */
export async function saturate(server: ForkedServer, { lengths, texts }: Workload): Promise<Throughput> {
  const requests = Array.from({ length: Math.ceil(texts.length / TEXTS_PER_REQUEST) }, (_, index) =>
    texts.slice(index * TEXTS_PER_REQUEST, (index + 1) * TEXTS_PER_REQUEST),
  );
  const cpuBefore = await server.cpuSeconds();
  const startedAt = performance.now();
  let tokens = 0;
  const caller = async (): Promise<void> => {
    for (let request = requests.shift(); request !== undefined; request = requests.shift()) {
      const counted = await server.embed(request);
      tokens += counted;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const wallSeconds = (performance.now() - startedAt) / 1_000;
  const cpuSeconds = (await server.cpuSeconds()) - cpuBefore;
  if (tokens !== sum(lengths)) throw new Error(`${tokens} tokens counted, ${sum(lengths)} sent`);
  return { tokens, cpuSeconds, wallSeconds };
}

/** Of the tokens that ran, those that were padding: 0 to 1. */
export function paddingShare(batches: readonly { readonly lengths: readonly number[] }[]): number {
  const padded = batches.map(({ lengths }) => Math.max(...lengths) * lengths.length);
  return 1 - sum(batches.map(({ lengths }) => sum(lengths))) / sum(padded);
}

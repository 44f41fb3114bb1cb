/**
 * `npm run bench:embed`: the embedding server at saturation, and what a single text waits meanwhile. Compared with the
 * bare runtime on the same batches (the ceiling), with the same server under the batching policy of
 * text-embeddings-inference, and with Transformers.js behind a small HTTP server. Speed is tokens per CPU-second of
 * the server's whole process tree; the client's time is not in it. All contenders run in turn in every round, and the
 * bars are held by the median of each round's ratio, because a machine's speed drifts more than they differ.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg } from "node:os";
import { dirname } from "node:path";
import { type Bar, reportBars } from "../measure/bar.ts";
import { median, quantile, sum } from "../measure/statistics.ts";
import { textTable } from "../measure/text-table.ts";
import { type Packs, runBareLoop } from "./bare-loop.ts";
import { POLICY_NAMES, type PolicyName } from "./batch-policies.ts";
import { ForkedServer, GATEWAY } from "./forked-server.ts";
import { type Latency, halfAndWorst, measureLatency } from "./latency.ts";
import { type MemoryCycles, measureMemoryCycles } from "./memory-cycles.ts";
import { type Throughput, paddingShare, saturate } from "./saturation.ts";
import { type Workload, equalWorkload, logNormalWorkload } from "./workload.ts";

const require = createRequire(import.meta.url);
const SEED = 42;
const TRANSFORMERS = new URL("../transformers/server.mjs", import.meta.url);
const INSTALLED = new URL("../transformers/node_modules/@huggingface/transformers", import.meta.url);
/** As many as a server has replicas: one per core, at most four. */
const PROCESSES = Math.min(availableParallelism(), 4);

type Contender = PolicyName | "bare loop" | "transformers.js";

/** One measurement of a contender; `padding` where its batches are known. */
interface Round {
  readonly throughput: Throughput;
  readonly padding: number | null;
  readonly loopP99Ms: number | null;
}

interface Effort {
  readonly rounds: number;
  readonly texts: number;
  readonly memoryCycles: number;
  readonly latency: { readonly idleTexts: number; readonly bulkRequests: number };
}

const FULL: Effort = {
  rounds: 3,
  texts: 1_024,
  memoryCycles: 50,
  latency: { idleTexts: 400, bulkRequests: 8 },
};
/** Shows that everything works; its figures mean little. */
const QUICK: Effort = { rounds: 1, texts: 256, memoryCycles: 2, latency: { idleTexts: 20, bulkRequests: 1 } };

type Servers = ReadonlyMap<Contender, ForkedServer>;

async function main(effort: Effort): Promise<boolean> {
  const servers = await startServers();
  try {
    const skewed = await compare(servers, logNormalWorkload(effort.texts, SEED), effort.rounds);
    const equal = await compare(servers, equalWorkload(effort.texts, SEED), effort.rounds);
    const latency = await measureLatency(serverOf(servers, "packed"), effort.latency);
    printLatency(latency);
    printMemory(await measureMemoryCycles(effort.memoryCycles));
    return reportBars([...speedBars(skewed, equal), ...latencyBars(latency, [skewed, equal])]);
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
  }
}

async function startServers(): Promise<Servers> {
  const servers = new Map<Contender, ForkedServer>();
  for (const policy of POLICY_NAMES)
    servers.set(policy, await ForkedServer.start(GATEWAY, { args: [JSON.stringify({ policy })] }));
  if (existsSync(INSTALLED)) {
    const model = dirname(require.resolve("@sheaf/model-minilm/package.json"));
    const server = await ForkedServer.start(TRANSFORMERS, { args: [model], execArgv: [] });
    servers.set("transformers.js", server);
  } else {
    console.log("transformers.js: skipped, not installed (npm ci --prefix benchmarks/transformers)");
  }
  return servers;
}

type Rounds = ReadonlyMap<Contender, readonly Round[]>;

/** Every contender once per round, in the same order, so that what drifts drifts for all. */
async function compare(servers: Servers, workload: Workload, rounds: number): Promise<Rounds> {
  const measured = new Map<Contender, Round[]>();
  const note = (contender: Contender, round: Round): void => {
    measured.set(contender, [...(measured.get(contender) ?? []), round]);
  };
  const warmUp = workload.texts.slice(0, 64);
  for (const server of servers.values()) await server.embed(warmUp);
  for (let round = 0; round < rounds; round++) {
    for (const [contender, server] of servers) {
      if (contender === "transformers.js") {
        note(contender, { throughput: await saturate(server, workload), padding: null, loopP99Ms: null });
        continue;
      }
      const { packs, ...own } = await runServer(server, workload);
      note(contender, own);
      if (contender !== "packed") continue;
      const throughput = await runBareLoop(packs, PROCESSES);
      note("bare loop", { throughput, padding: own.padding, loopP99Ms: null });
    }
  }
  printSpeed(workload, measured);
  return measured;
}

async function runServer(
  server: ForkedServer,
  workload: Workload,
): Promise<Round & { readonly packs: Packs }> {
  await server.report();
  const throughput = await saturate(server, workload);
  const { batches, loopDelayMs } = await server.report();
  return {
    throughput,
    padding: paddingShare(batches),
    loopP99Ms: loopDelayMs.p99,
    packs: batches.map(({ lengths }) => lengths),
  };
}

function printSpeed(workload: Workload, measured: Rounds): void {
  const tokens = sum(workload.lengths);
  console.log(`\n## ${workload.texts.length} texts, ${tokens} tokens, lengths ${workload.name}\n`);
  const rows = [...measured].map(([contender, rounds]) => {
    const padding = rounds[0]?.padding ?? null;
    const loop = rounds.flatMap(({ loopP99Ms }) => (loopP99Ms === null ? [] : [loopP99Ms]));
    return [
      contender,
      median(rounds.map((round) => perCpuSecond(round))).toFixed(0),
      median(rounds.map(({ throughput }) => throughput.tokens / throughput.wallSeconds)).toFixed(0),
      ratio(measured, "packed", contender).toFixed(2),
      padding === null ? "" : `${(100 * padding).toFixed(1)} %`,
      loop.length === 0 ? "" : median(loop).toFixed(1),
    ];
  });
  const header = ["", "tokens/CPU-s", "tokens/s", "packed / this", "padding", "loop p99 ms"];
  console.log(textTable(header, rows));
}

function printLatency({ idle, duringBulk, microBatchMs, loopDelayMs }: Latency): void {
  console.log("\n## One text of 16 tokens while requests of 1,000 texts run\n");
  const rows = [
    [`idle, p50 / p99 ms (${idle.length} texts)`, halfAndWorst(idle)],
    [`during the bulk request, p50 / p99 ms (${duringBulk.length} texts)`, halfAndWorst(duringBulk)],
    ["median bulk micro-batch, ms", microBatchMs.toFixed(1)],
    [
      "event-loop delay of the gateway, p99 / max ms",
      `${loopDelayMs.p99.toFixed(1)} / ${loopDelayMs.max.toFixed(1)}`,
    ],
  ];
  console.log(`${textTable(["packed", "measured"], rows)}\n`);
}

function printMemory({ cycles, unloadings, firstMebibytes, lastMebibytes }: MemoryCycles): void {
  console.log(`## Memory of the process tree over ${cycles} load and unload cycles\n`);
  const rows = [
    ["unloadings", String(unloadings)],
    ["after the first cycle, MiB", firstMebibytes.toFixed(0)],
    ["after the last cycle, MiB", lastMebibytes.toFixed(0)],
  ];
  console.log(`${textTable(["packed", "measured"], rows)}\n`);
}

function speedBars(skewed: Rounds, equal: Rounds): readonly Bar[] {
  const atLeast = { side: "at least", digits: 3 } as const;
  return [
    {
      name: "share of the bare loop, log-normal",
      measured: ratio(skewed, "packed", "bare loop"),
      bound: 0.9,
      ...atLeast,
    },
    {
      name: "share of the bare loop, equal",
      measured: ratio(equal, "packed", "bare loop"),
      bound: 0.9,
      ...atLeast,
    },
    { name: "over fifo-8, log-normal", measured: ratio(skewed, "packed", "fifo-8"), bound: 2.2, ...atLeast },
  ];
}

function latencyBars(latency: Latency, measured: readonly Rounds[]): readonly Bar[] {
  const { idle, duringBulk, microBatchMs, loopDelayMs } = latency;
  const loops = measured.flatMap((rounds) =>
    (rounds.get("packed") ?? []).map(({ loopP99Ms }) => loopP99Ms ?? 0),
  );
  const atMost = { side: "at most", digits: 1 } as const;
  return [
    {
      name: "p99 of a single text during bulk, ms (bound: idle p99 + 2 micro-batches)",
      measured: quantile(duringBulk, 0.99),
      bound: quantile(idle, 0.99) + 2 * microBatchMs,
      ...atMost,
    },
    { name: "event-loop p99, ms", measured: Math.max(loopDelayMs.p99, median(loops)), bound: 20, ...atMost },
  ];
}

/** Median over the rounds of one contender's speed over another's in the same round. */
function ratio(measured: Rounds, one: Contender, other: Contender): number {
  const others = measured.get(other) ?? [];
  const ratios = (measured.get(one) ?? []).flatMap((round, index) => {
    const against = others[index];
    return against === undefined ? [] : [perCpuSecond(round) / perCpuSecond(against)];
  });
  return median(ratios);
}

function perCpuSecond({ throughput }: Round): number {
  return throughput.tokens / throughput.cpuSeconds;
}

function serverOf(servers: Servers, contender: Contender): ForkedServer {
  const server = servers.get(contender);
  if (server === undefined) throw new Error(`${contender} is not running`);
  return server;
}

const { version } = require("onnxruntime-node/package.json") as { readonly version: string };
console.log(`${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`);
console.log(`Node ${process.version}, onnxruntime-node ${version}`);
process.exitCode = (await main(process.argv.includes("--quick") ? QUICK : FULL)) ? 0 : 1;

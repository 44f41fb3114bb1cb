/**
 * Child process: the whole server of `sheaf serve --role embed`, with a batching policy of choice, and told to count
 * its batches and the delays of its event loop.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { BatchReport } from "@sheaf/inference";
import { readSettings, startServer } from "@sheaf/server";
import { pino } from "pino";
import { fifoEight } from "./batch-policies.ts";
import {
  type GatewayOptions,
  type GatewayReport,
  type Listening,
  REPORT_REQUEST,
} from "./gateway-messages.ts";

/** The histogram holds whole intervals, so the resolution is taken off again. */
const RESOLUTION_MS = 5;
const NANOSECONDS_PER_MS = 1e6;

const { policy, ...options } = JSON.parse(process.argv[2] ?? "") as GatewayOptions;
const batches: BatchReport[] = [];
const events: string[] = [];
const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

const settings = readSettings({ port: "0", auth: "off", role: "embed", logLevel: "error" });
const server = await startServer(settings, pino({ level: settings.logLevel }), {
  ...options,
  ...(policy === "fifo-8" ? { policy: fifoEight } : {}),
  onBatch: (batch) => batches.push(batch),
  onEvent: (event) => events.push(event),
});
server.open();
loop.enable();

process.on("message", (message) => {
  if (message !== REPORT_REQUEST) return;
  const delay = (nanoseconds: number): number =>
    Math.max(0, nanoseconds / NANOSECONDS_PER_MS - RESOLUTION_MS);
  send({
    type: "report",
    batches: batches.splice(0),
    events: events.splice(0),
    loopDelayMs: { p50: delay(loop.percentile(50)), p99: delay(loop.percentile(99)), max: delay(loop.max) },
  });
  loop.reset();
});
process.on("disconnect", () => void server.stop().then(() => process.exit(0)));
send({ type: "listening", url: server.url });

function send(message: Listening | GatewayReport): void {
  process.send?.(message);
}

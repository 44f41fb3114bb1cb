/**
 * `npm run bench:start -- [--runs 20]`: how long the server takes from the start of its process, on an empty data folder, until
 * it listens (answers 503) and until it serves (answers 200), and the processor time of its gateway up to then. The first start is
 * not counted: it reads the files from the disk.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../scripts/free-port.ts";
import { quantile } from "../measure/statistics.ts";
import { textTable } from "../measure/text-table.ts";
import { readOptions } from "../measure/read-options.ts";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
/** Between two looks. */
const LOOK_MS = 2;
/** Of `/proc`. */
const TICK_MS = 10;
const USER_TICKS = 11;

interface Start {
  readonly listening: number;
  readonly serving: number;
  readonly processor: number;
}

const { values } = readOptions("bench:start -- [--runs 20]", {
  options: { runs: { type: "string", default: "20" } },
});
const starts: Start[] = [];
for (let run = 0; run <= Number(values.runs); run++) starts.push(await measure());
starts.shift();

const row = (name: string, pick: (start: Start) => number): string[] => {
  const times = starts.map(pick);
  return [name, ...[0, 0.5, 1].map((share) => quantile(times, share).toFixed(0))];
};
console.log(`${starts.length} starts, ${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}\n`);
console.log(
  textTable(
    ["ms from the start of the process", "least", "median", "most"],
    [
      row("listens, answers 503", ({ listening }) => listening),
      row("serves, answers 200", ({ serving }) => serving),
      row("processor time of the gateway", ({ processor }) => processor),
    ],
  ),
);

async function measure(): Promise<Start> {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-start-"));
  const port = await freePort();
  const begun = performance.now();
  const args = [COMMAND, "serve", "--port", String(port), "--data", join(folder, "data")];
  const server = spawn(process.execPath, args, { stdio: "ignore" });
  try {
    let listening = 0;
    for (;;) {
      const status = await heartbeat(port);
      const passed = performance.now() - begun;
      if (status !== null && listening === 0) listening = passed;
      if (status === 200) return { listening, serving: passed, processor: processorMs(server.pid!) };
      if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
      await pause(LOOK_MS);
    }
  } finally {
    server.kill();
    if (server.exitCode === null) await once(server, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `null`: nobody listens. */
function heartbeat(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request({ port, path: "/api/v2/heartbeat", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? null);
    });
    asked.once("error", () => resolve(null));
    asked.end();
  });
}

function processorMs(pid: number): number {
  // The name of the command, in brackets, may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return TICK_MS * (Number(fields[USER_TICKS]) + Number(fields[USER_TICKS + 1]));
}

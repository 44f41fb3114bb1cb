/** Runs a command of `sheaf` that is measured, or killed on the way. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT_KEY } from "./served-sheaf.ts";
import { COMMAND } from "./sheaf-command.ts";

/** Runs in the command: it prints what `/proc` says of itself when it ends. `getrusage` would count the parent's memory, too. */
const PEAK = `import { readFileSync, writeSync } from "node:fs";
process.on("exit", () => writeSync(2, readFileSync("/proc/self/status")));`;
/** In MiB: garbage is collected soon, so that a peak says what is held, also on a machine that is busy. */
const SMALL_HEAP = ["--max-semi-space-size=4", "--max-old-space-size=96"];
const HIGH_WATER = /^VmHWM:\s*(\d+) kB$/mu;
const KIB = 1_024;

export interface WatchedEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  /** Most resident memory; 0 where it was killed. */
  readonly peakBytes: number;
}

/** @param isKilled Asked again and again: whether it is to be killed with SIGKILL now. */
export async function watchedSheaf(
  url: string,
  args: readonly string[],
  isKilled: () => boolean = () => false,
): Promise<WatchedEnd> {
  const measured = [...SMALL_HEAP, "--import", `data:text/javascript,${encodeURIComponent(PEAK)}`];
  const env = { ...process.env, SHEAF_URL: url, SHEAF_KEY: ROOT_KEY };
  const child = spawn(process.execPath, [...measured, COMMAND, ...args], { env });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  await Promise.race([closed, killed(child, isKilled)]);
  const [code, signal] = await closed;
  return { code, signal, output, peakBytes: Number(HIGH_WATER.exec(output)?.[1] ?? 0) * KIB };
}

async function killed(child: ChildProcess, isKilled: () => boolean): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    if (isKilled()) child.kill("SIGKILL");
    await sleep(1);
  }
}

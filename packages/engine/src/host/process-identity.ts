/**
 * Names a process so that it cannot be mistaken for a later one with the same id: containers give every first
 * process the same low ids.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in whatever form the system gives; only compared for equality. */
  readonly started: string;
}

export function currentProcess(): ProcessIdentity {
  return { pid: process.pid, started: startOf(process.pid) ?? "unknown" };
}

/** Whether that very process still runs. One that has ended but was not reaped does not. */
export function isRunning({ pid, started }: ProcessIdentity): boolean {
  return startOf(pid) === started;
}

function startOf(pid: number): string | null {
  return process.platform === "linux" ? startFromProc(pid) : startFromPs(pid);
}

function startFromProc(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before the last bracket may hold anything, blanks and brackets too; `state` follows it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    const ticks = fields[19];
    if (ticks === undefined || state === "Z" || state === "X") return null;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${ticks}`;
  } catch {
    // No such process.
    return null;
  }
}

function startFromPs(pid: number): string | null {
  try {
    const started = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return started === "" ? null : started;
  } catch {
    // `ps` fails for a process that does not exist.
    return null;
  }
}

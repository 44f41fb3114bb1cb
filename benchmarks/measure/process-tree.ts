/** What a process and all below it have used, read from /proc: Linux only. */
import { readFile } from "node:fs/promises";
import { descendants } from "../../test/e2e/testing/served-sheaf.ts";
import { sum } from "./statistics.ts";

/** Of /proc on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;
const KIBIBYTES_PER_MEBIBYTE = 1_024;

/** CPU seconds so far. */
export function cpuSeconds(pid: number): Promise<number> {
  return sumOver(pid, ownCpuSeconds);
}

/** As `cpuSeconds`, of the process alone. */
export async function ownCpuSeconds(pid: number): Promise<number> {
  const fields = fieldsOf(await textOf(pid, "stat"));
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

/**
 * CPU seconds that this machine has spent so far on anything but this process and its children, ended ones included: what
 * else ran while something was measured.
 */
export async function foreignCpuSeconds(): Promise<number> {
  const [line = ""] = (await readFile("/proc/stat", "utf8")).split("\n");
  // user, nice, system, idle, iowait, irq, softirq
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.split(/ +/u).slice(1).map(Number);
  const fields = fieldsOf(await textOf(process.pid, "stat"));
  const ended = Number(fields[13]) + Number(fields[14]);
  const all = (user + nice + system + irq + softirq - ended) / TICKS_PER_SECOND;
  return all - (await cpuSeconds(process.pid));
}

/** Resident memory, MiB; pages that two processes share count twice. */
export function residentMebibytes(pid: number): Promise<number> {
  return sumOver(
    pid,
    async (one) => kibibytes(await textOf(one, "status"), "VmRSS") / KIBIBYTES_PER_MEBIBYTE,
  );
}

/**
 * Anonymous and shared-memory pages, MiB, shared ones in parts. Pages of mapped files do not count, for the kernel
 * drops them when it needs the memory.
 */
export function ownMebibytes(pid: number): Promise<number> {
  return sumOver(pid, async (one) => {
    const text = await textOf(one, "smaps_rollup");
    return (kibibytes(text, "Pss_Anon") + kibibytes(text, "Pss_Shmem")) / KIBIBYTES_PER_MEBIBYTE;
  });
}

/**
 * Anonymous and shared-memory pages of one process, MiB, as the kernel counts them anyway: to be looked at often, while
 * `ownMebibytes` walks all pages, for milliseconds during which the process can map no others.
 */
export async function anonymousMebibytes(pid: number): Promise<number> {
  const text = await textOf(pid, "status");
  return (kibibytes(text, "RssAnon") + kibibytes(text, "RssShmem")) / KIBIBYTES_PER_MEBIBYTE;
}

async function sumOver(pid: number, measure: (pid: number) => Promise<number>): Promise<number> {
  const pids = [pid, ...(await descendants(pid)).map((child) => child.pid)];
  return sum(await Promise.all(pids.map(measure)));
}

/** What follows the name, which may hold blanks: at 11 user time, then system time, and both of ended children. */
function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Empty for a process that has ended. */
function textOf(pid: number, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
}

function kibibytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "mu").exec(text)?.[1] ?? 0);
}

/** What a process and all below it have used, read from /proc: Linux only. */
import { readFile } from "node:fs/promises";
import { descendants } from "../../test/e2e/testing/served-sheaf.ts";
import { sum } from "./statistics.ts";

/** Of /proc on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;
const KIBIBYTES_PER_MEBIBYTE = 1_024;

/** CPU seconds so far. */
export function cpuSeconds(pid: number): Promise<number> {
  return sumOver(pid, async (one) => {
    const stat = await textOf(one, "stat");
    // After the name, which may hold blanks: field 14 is user time, field 15 system time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
  });
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

/** Empty for a process that has ended. */
function textOf(pid: number, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
}

function kibibytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "mu").exec(text)?.[1] ?? 0);
}

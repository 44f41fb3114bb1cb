/** Whether a process lives, and waiting for a condition without asserting a time. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** A zombie (dead, but nobody has asked for its exit status) does not count as alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}

/** Resolves when `condition` holds; the test's own time limit ends a wait that never would. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(10);
}

/** Samples the memory of a process tree from a process of its own: listing processes takes milliseconds. */
import { setTimeout as sleep } from "node:timers/promises";
import { descendants } from "../../test/e2e/testing/served-sheaf.ts";
import { anonymousMebibytes } from "./process-tree.ts";
import { sum } from "./statistics.ts";
import { answerTasks } from "./task-process.ts";

const SAMPLE_MS = 100;
/** Children come and go rarely. */
const SAMPLES_PER_LISTING = 10;

/** A root to watch from now on; `null`: none. Either way the peaks up to now are answered. */
export interface WatchTask {
  readonly root: number | null;
}

/** MiB of anonymous and shared memory. */
export interface MemoryPeaks {
  readonly whole: number;
  /** Of all processes below the root. */
  readonly below: number;
}

let root: number | null = null;
let peaks: MemoryPeaks = { whole: 0, below: 0 };

answerTasks((task): MemoryPeaks => {
  const answer = peaks;
  root = (task as WatchTask).root;
  peaks = { whole: 0, below: 0 };
  return answer;
});

let children: readonly number[] = [];
let listed: number | null = null;
for (let i = 0; ; i++) {
  if (root !== null) await sample(root, i % SAMPLES_PER_LISTING === 0);
  await sleep(SAMPLE_MS);
}

async function sample(pid: number, isListingDue: boolean): Promise<void> {
  if (isListingDue || listed !== pid) {
    children = (await descendants(pid)).map((child) => child.pid);
    listed = pid;
  }
  const own = await anonymousMebibytes(pid);
  const below = sum(await Promise.all(children.map(anonymousMebibytes)));
  // Another may be watched by now.
  if (root === pid)
    peaks = { whole: Math.max(peaks.whole, own + below), below: Math.max(peaks.below, below) };
}

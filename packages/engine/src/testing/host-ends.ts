/** Ends engine hosts for real: by signals from outside, and by exhausting their heap. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { CollectionRef } from "@sheaf/protocol";
import { expect, onTestFinished } from "vitest";
import type { HostedEngine } from "../host/hosted-engine.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const PATIENCE = { timeout: 20_000, interval: 20 };
/** Enough that some are unanswered when the host ends. */
const CALLS = 1_000;
/** Exhausts the heap of a process that `withExhaustibleHeap` has prepared. */
export const EXHAUST_HEAP = "SIGUSR2";

export function end(engine: HostedEngine, signal: NodeJS.Signals): void {
  process.kill(engine.pid ?? Number.NaN, signal);
}

/** Resolves when a host serves again that is not `old`. */
export async function restarted(engine: HostedEngine, old: number | undefined): Promise<void> {
  await expect.poll(() => engine.ready && engine.pid !== old, PATIENCE).toBe(true);
}

/** Engine hosts that are started during this test fill up a small heap when they get `EXHAUST_HEAP`. */
export function withExhaustibleHeap(): void {
  const hook = join(temporaryFolder(), "exhaust-heap.mjs");
  writeFileSync(
    hook,
    `process.on("${EXHAUST_HEAP}", () => { for (const held = []; ; ) held.push({ held }); });`,
  );
  const before = process.env["NODE_OPTIONS"];
  process.env["NODE_OPTIONS"] = `--max-old-space-size=64 --import=${pathToFileURL(hook).href}`;
  onTestFinished(() => {
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
  });
}

/**
 * Has calls on these collections in flight when the host ends by `signal`. A stopped host answers none before, but V8 has
 * a handler for some signals: until the thread that runs it has ended the process, the others may answer a few.
 */
export async function endUnder(
  engine: HostedEngine,
  refs: readonly CollectionRef[],
  signal: NodeJS.Signals,
): Promise<void> {
  const { pid } = engine;
  end(engine, "SIGSTOP");
  const calls = Promise.allSettled(
    Array.from({ length: CALLS }, () =>
      refs.map((ref) => engine.count(ref, { ids: null, where: null })),
    ).flat(),
  );
  end(engine, signal);
  end(engine, "SIGCONT");
  for (const settled of (await calls).slice(-refs.length)) {
    expect(settled).toMatchObject({ reason: { code: "unavailable" } });
  }
  await restarted(engine, pid);
}

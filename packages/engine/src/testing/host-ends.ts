/** Ends engine hosts for real: by signals from outside, and by exhausting their heap. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { CollectionRef } from "@sheaf/protocol";
import { expect, onTestFinished } from "vitest";
import type { HostedEngine } from "../host/hosted-engine.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const PATIENCE = { timeout: 20_000, interval: 20 };
/** Enough that some are unanswered when the host ends. */
const CALLS = 1_000;
const UNTIL_BUSY_MS = 50;
const EVERYTHING = { ids: null, where: null };
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
  process.env["NODE_OPTIONS"] = `--max-old-space-size=160 --import=${pathToFileURL(hook).href}`;
  onTestFinished(() => {
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
  });
}

/** Has calls on these collections in flight when the host ends by `signal`, the first collection's first. */
export async function endUnder(
  engine: HostedEngine,
  refs: readonly CollectionRef[],
  signal: NodeJS.Signals,
): Promise<void> {
  const { pid } = engine;
  const calls = signal === EXHAUST_HEAP ? await exhaustUnder(engine, refs) : stopUnder(engine, refs, signal);
  for (const settled of (await Promise.allSettled(calls)).slice(-refs.length)) {
    expect(settled).toMatchObject({ reason: { code: "unavailable" } });
  }
  await restarted(engine, pid);
}

/**
 * A stopped host answers none before, but V8 has a handler for some signals: until the thread that runs it has ended the
 * process, the others may answer a few.
 */
function stopUnder(
  engine: HostedEngine,
  refs: readonly CollectionRef[],
  signal: NodeJS.Signals,
): Promise<number>[] {
  end(engine, "SIGSTOP");
  const calls = Array.from({ length: CALLS }, () => refs.map((ref) => engine.count(ref, EVERYTHING))).flat();
  end(engine, signal);
  end(engine, "SIGCONT");
  return calls;
}

/** Filling up the heap takes long enough for calls to come, of which none is read any more. */
async function exhaustUnder(
  engine: HostedEngine,
  refs: readonly CollectionRef[],
): Promise<readonly Promise<number>[]> {
  end(engine, EXHAUST_HEAP);
  await pause(UNTIL_BUSY_MS);
  return refs.map((ref) => engine.count(ref, EVERYTHING));
}

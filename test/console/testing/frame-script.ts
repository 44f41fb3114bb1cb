/** How long scripts held up the frames of a page, by what Chromium's trace says of its main thread. */
import type { Browser, Page } from "playwright-core";

/** At 60 Hz. */
const FRAME_MS = 1_000 / 60;
const SCRIPT: ReadonlySet<string> = new Set([
  "FunctionCall",
  "EvaluateScript",
  "RunMicrotasks",
  "v8.evaluateModule",
  "MinorGC",
  "MajorGC",
]);

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds. */
  readonly ts: number;
  readonly dur?: number;
  /** What the thread itself ran of `dur`. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

export interface FrameScript {
  /** Frames in which there was script. */
  readonly frames: number;
  /** Milliseconds of script in a frame. */
  readonly p50: number;
  readonly p95: number;
  readonly longest: number;
}

export async function scriptPerFrame(
  browser: Browser,
  page: Page,
  act: () => Promise<void>,
): Promise<FrameScript> {
  await browser.startTracing(page, { categories: ["devtools.timeline", "v8", "__metadata"] });
  let trace: Buffer;
  try {
    await act();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: readonly TraceEvent[] };
  const threads = traceEvents.filter(
    ({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain",
  );
  const perThread = threads.map(({ pid, tid }) =>
    framesOf(
      traceEvents.filter(
        (event) => event.pid === pid && event.tid === tid && event.ph === "X" && SCRIPT.has(event.name),
      ),
    ),
  );
  // Pages of other tests are idle.
  const [busiest = []] = perThread.sort((a, b) => sum(b) - sum(a));
  const sorted = busiest.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return { frames: sorted.length, p50: at(0.5), p95: at(0.95), longest: at(1) };
}

/**
 * Milliseconds of script in each frame that has any, by the clock of the thread: what other programs of the machine took meanwhile
 * is no script. Events may lie inside of each other.
 */
function framesOf(events: readonly TraceEvent[]): readonly number[] {
  const frames = new Map<number, number>();
  let end = 0;
  for (const { ts, dur = 0, tdur = dur } of events.toSorted((a, b) => a.ts - b.ts)) {
    const until = (ts + dur) / 1_000;
    const share = dur === 0 ? 0 : Math.min(1, tdur / dur);
    for (let from = Math.max(ts / 1_000, end); from < until;) {
      const frame = Math.floor(from / FRAME_MS);
      const to = Math.min(until, Math.max((frame + 1) * FRAME_MS, from + 1e-6));
      frames.set(frame, (frames.get(frame) ?? 0) + share * (to - from));
      from = to;
    }
    end = Math.max(end, until);
  }
  return [...frames.values()];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

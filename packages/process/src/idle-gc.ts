/**
 * Runs a full garbage collection when a process becomes idle after bulk work. V8 collects only on allocation, so an idle
 * process would keep its last garbage, and the space reserved for young objects, until it works again.
 *
 * A full collection blocks the thread for tens of milliseconds and drops optimized code: the next thousand requests take
 * up to twice as long. So it runs only if the heap has grown much since the last one (bulk writes do that, searches do
 * not), after a period without work, and never on a heap so large that it would take long.
 */
import { Session } from "node:inspector";
import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

export interface IdleGcOptions {
  /** Between two looks at what the thread does; at rest after two idle ones. */
  readonly lookMs?: number;
  /** Work since the last collection that makes another worth its time. */
  readonly workMs?: number;
  /** Bytes that the heap has grown by since the last collection, likewise. */
  readonly grownBytes?: number;
}

const LOOK_MS = 400;
const WORK_MS = 2_000;
/** Several times what the young objects of V8, which are there after any work, take. */
const GROWN_BYTES = 48 * 2 ** 20;
const RESTING_SHARE = 0.01;
const RESTING_LOOKS = 2;
/** Some 0.1 s. */
const MAX_HEAP_BYTES = 192 * 2 ** 20;

export class IdleGc {
  readonly #workMs: number;
  readonly #grownBytes: number;
  readonly #timer: NodeJS.Timeout;
  #before: EventLoopUtilization = performance.eventLoopUtilization();
  /** Since a collection was last thought of. */
  #activeMs = 0;
  #restingLooks = 0;
  /** The least at rest since the last collection. */
  #heapBytes = heapBytes();
  #session: Session | null = null;

  /** Of this thread; keeps no process alive. */
  constructor({ lookMs = LOOK_MS, workMs = WORK_MS, grownBytes = GROWN_BYTES }: IdleGcOptions = {}) {
    this.#workMs = workMs;
    this.#grownBytes = grownBytes;
    this.#timer = setInterval(() => this.#look(), lookMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#session?.disconnect();
    this.#session = null;
  }

  #look(): void {
    const now = performance.eventLoopUtilization();
    const { active, utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    this.#activeMs += active;
    this.#restingLooks = utilization < RESTING_SHARE ? this.#restingLooks + 1 : 0;
    if (this.#restingLooks < RESTING_LOOKS) return;
    const bytes = heapBytes();
    this.#heapBytes = Math.min(this.#heapBytes, bytes);
    if (this.#activeMs < this.#workMs) return;
    this.#activeMs = 0;
    if (bytes - this.#heapBytes < this.#grownBytes) return;
    if (getHeapStatistics().used_heap_size > MAX_HEAP_BYTES) return;
    this.#heapBytes = bytes;
    this.#collect();
  }

  /** The one way that needs no flag of V8, and that also gives the room for young objects back. In a turn of its own. */
  #collect(): void {
    if (this.#session === null) {
      this.#session = new Session();
      this.#session.connect();
    }
    // Without a callback: a session that is disconnected in it never returns.
    this.#session.post("HeapProfiler.collectGarbage");
  }
}

/** With what lies outside of it and goes with its objects: the contents of buffers. */
function heapBytes(): number {
  const { total_heap_size: heap, external_memory: outside } = getHeapStatistics();
  return heap + outside;
}

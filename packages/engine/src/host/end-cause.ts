/**
 * Why an engine host ended. V8 ends a process by a signal when its heap is exhausted, and by the same signals when it reads
 * nonsense; what it printed last tells the two apart.
 */
import type { ChildDeath } from "@sheaf/process";

export type EndCause =
  /** The heap, or memory outside it, was exhausted. No evidence of damage. */
  | "out of memory"
  /** A signal that a process brings upon itself: it may have read a damaged page. */
  | "crash"
  /** Its event loop did not turn for too long, and its supervisor killed it. */
  | "hang"
  /** It ended itself, by an error that nobody caught. */
  | "exit"
  /** Somebody else ended it. */
  | "kill";

/** What ends a process that reads nonsense; V8 ends itself by some of them too. */
const CRASH_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set([
  "SIGSEGV",
  "SIGBUS",
  "SIGABRT",
  "SIGFPE",
  "SIGILL",
  "SIGTRAP",
]);
/** V8: "JavaScript heap out of memory", "process out of memory"; C++: "std::bad_alloc"; Node: failed allocations. */
const OUT_OF_MEMORY = /out of memory|bad_alloc|allocation failed/iu;

/** @param hung Its supervisor had given it up. */
export function endCause({ code, signal, stderr }: Omit<ChildDeath, "inFlight">, hung: boolean): EndCause {
  if (hung) return "hang";
  const isCrash = signal !== null && CRASH_SIGNALS.has(signal);
  if (isCrash || code !== null) {
    if (OUT_OF_MEMORY.test(stderr)) return "out of memory";
    return isCrash ? "crash" : "exit";
  }
  return "kill";
}

/** What the log says of an engine that no host can start for. */
export function endedAtStart(signal: NodeJS.Signals | null, cause: "crash" | "out of memory"): string {
  const why = cause === "crash" ? "the catalog may be damaged; run `sheaf doctor`" : "it ran out of memory";
  return `the engine host ended with ${signal} as it opened the catalog: ${why}`;
}

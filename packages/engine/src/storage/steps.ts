/**
 * Work that may be done in steps: a value at once, or a generator that yields wherever the event loop may turn and returns
 * the value in the end. Small work stays a plain call.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Longest stretch between two turns. */
const STRETCH_MS = 5;

export type Steps<T> = T | Generator<void, T>;

export function isInSteps<T>(steps: Steps<T>): steps is Generator<void, T> {
  return typeof steps === "object" && steps !== null && Symbol.iterator in steps && "next" in steps;
}

/** `next` of the value, when it is there. */
export function afterSteps<T>(steps: Steps<T>, next: (value: T) => T): Steps<T> {
  return isInSteps(steps) ? continued(steps, next) : next(steps);
}

/** Runs steps for as long as one stretch may take: small work is done then, of long work the other steps are left. */
export function startSteps<T>(steps: Generator<void, T>): Steps<T> {
  const until = performance.now() + STRETCH_MS;
  do {
    const step = steps.next();
    if (step.done === true) return step.value;
  } while (performance.now() < until);
  return steps;
}

/** All steps at once. */
export function runSteps<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * @param onRunning Told before each stretch of steps, and with `false` before each pause.
 * @param pause By default a turn of the event loop.
 */
export async function runInTurns<T>(
  steps: Generator<void, T>,
  onRunning: (isRunning: boolean) => void = () => {},
  pause: () => Promise<unknown> = nextTurn,
): Promise<T> {
  for (;;) {
    const until = performance.now() + STRETCH_MS;
    onRunning(true);
    try {
      do {
        const step = steps.next();
        if (step.done === true) return step.value;
      } while (performance.now() < until);
    } finally {
      onRunning(false);
    }
    await pause();
  }
}

function* continued<T>(steps: Generator<void, T>, next: (value: T) => T): Generator<void, T> {
  return next(yield* steps);
}

/**
 * Work that may be done in steps: a value at once, or a generator that yields wherever the event loop may turn and returns
 * the value in the end. Small work stays a plain call.
 */
import { beginSlice, isSliceOver, nextSlice } from "@sheaf/process";

/** Records that are only looked at in one step: some 0.1 ms, and a few where their memory is not in the caches. */
export const LOOKED_AT_PER_STEP = 4_096;

export type Steps<T> = T | Generator<void, T>;

export function isInSteps<T>(steps: Steps<T>): steps is Generator<void, T> {
  return typeof steps === "object" && steps !== null && Symbol.iterator in steps && "next" in steps;
}

/** `next` of the value, when it is there. */
export function afterSteps<T>(steps: Steps<T>, next: (value: T) => T): Steps<T> {
  return isInSteps(steps) ? continued(steps, next) : next(steps);
}

/**
 * Runs steps for as long as the slice of this turn of the event loop lasts: small work is done then, of long work the other
 * steps are left.
 */
export function startSteps<T>(steps: Generator<void, T>): Steps<T> {
  beginSlice();
  while (!isSliceOver()) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
  return steps;
}

/** All steps at once. */
export function runSteps<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export interface TurnOptions {
  /** Told before each stretch of steps, and with `false` before each pause and in the end. */
  readonly onRunning?: (isRunning: boolean) => void;
  /** Whose slices they take, in turn with others; by default those of nobody in particular. */
  readonly owner?: string;
  /** Until the next slice; by default that of the owner. */
  readonly pause?: () => Promise<unknown>;
}

export async function runInTurns<T>(
  steps: Generator<void, T>,
  { onRunning = () => {}, owner = "", pause = () => nextSlice(owner) }: TurnOptions = {},
): Promise<T> {
  for (;;) {
    if (isSliceOver()) {
      onRunning(false);
      await pause();
    }
    beginSlice();
    onRunning(true);
    try {
      do {
        const step = steps.next();
        if (step.done === true) return step.value;
      } while (!isSliceOver());
    } finally {
      onRunning(false);
    }
  }
}

function* continued<T>(steps: Generator<void, T>, next: (value: T) => T): Generator<void, T> {
  return next(yield* steps);
}

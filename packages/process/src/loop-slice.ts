/**
 * The slice of each turn of the event loop that the long work of a thread shares: reads, writes, messages. Once it is used
 * up, work that begins waits as work that goes on does. One piece of it goes on in each turn, owners in turn, so a call that
 * arrives meanwhile and asks for little waits for a slice or two, however much another owner has begun.
 */
import { TurnQueue } from "@sheaf/protocol";

/** Longest stretch of long work between two turns. */
const SLICE_MS = 4;

/** By owner. */
const waiting = new TurnQueue<() => void>();
/** When the slice of this turn began; `null`: it has not. */
let startedAt: number | null = null;
/** When long work began or went on last. */
let takenAt = -Infinity;
/** This turn has no slice. */
let isShort = false;
/** When the first of the short turns began that have kept long work waiting; `null`: none has. */
let shortSince: number | null = null;

/** Before anything has gone on in this turn: what arrives later in it shares its slice. */
export function beginSlice(): void {
  takenAt = performance.now();
  if (startedAt !== null) return;
  startedAt = takenAt;
  setImmediate(endSlice);
}

/**
 * Has long work wait for a later turn. To be called when the loop has taken one of those that may be many and of which it
 * takes one in each turn, such as connections: the next one comes the sooner. Half of the time is left to long work.
 */
export function shortenTurn(): void {
  if (isShort) return;
  isShort = true;
  setImmediate(() => {
    isShort = false;
  });
}

export function isSliceOver(): boolean {
  return isShort || (startedAt !== null && performance.now() - startedAt >= SLICE_MS);
}

/** Long work that somebody waits for goes on in a later turn. */
export function isSliceWanted(): boolean {
  return waiting.size > 0;
}

/** Long work that somebody waits for began or went on in the last so many milliseconds. */
export function wasSliceTaken(milliseconds: number): boolean {
  return performance.now() - takenAt < milliseconds;
}

/** Resolves with a slice of a later turn, in which the owner goes on at once. */
export function nextSlice(owner: string): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(owner, resolve);
    if (waiting.size === 1) setImmediate(resumeOne);
  });
}

/** Resolves once the owner may go on: at once, or in a later turn where the slice of this one is used up. */
export async function takeSlice(owner: string): Promise<void> {
  if (isSliceOver()) await nextSlice(owner);
  beginSlice();
}

function endSlice(): void {
  startedAt = null;
}

/** What is scheduled in here runs in the next turn, after all that has arrived. */
function resumeOne(): void {
  if (isShort) {
    shortSince ??= performance.now();
    if (performance.now() - shortSince < SLICE_MS) {
      setImmediate(resumeOne);
      return;
    }
  }
  isShort = false;
  shortSince = null;
  const resume = waiting.shift();
  if (waiting.size > 0) setImmediate(resumeOne);
  // Its slice is its own: it ends before the loop sees what has arrived.
  takenAt = startedAt = performance.now();
  setTimeout(endSlice, 0);
  resume?.();
}

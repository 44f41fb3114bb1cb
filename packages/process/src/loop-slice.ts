/**
 * The slice of each turn of the event loop that the long work of a thread shares: reads, writes, messages. Once it is used
 * up, work that begins waits as work that goes on does. One piece of it goes on in each turn, owners in turn, so a call that
 * arrives meanwhile and asks for little waits for a slice or two, however much another owner has begun. Reads come first
 * among what their owner has begun: beside writes without end, each piece of a read would wait for a piece of all of them.
 */
import { TurnQueue } from "@sheaf/protocol";

/** Longest stretch of long work between two turns. */
const SLICE_MS = 4;
/** What has waited for so long lets no more reads of its owner go first: a quarter of the owner's time is left to it. */
const LONGEST_PASSED_MS = 12;

interface Waiting {
  readonly resume: () => void;
  readonly isRead: boolean;
  readonly since: number;
}

/** By owner. */
const waiting = new TurnQueue<Waiting>();
let waitingReads = 0;
/** When the slice of this turn began; `null`: it has not. */
let startedAt: number | null = null;
/** When long work began or went on last. */
let takenAt = -Infinity;
/** When a read began last. */
let readAt = -Infinity;
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

/** As `beginSlice`, when a read begins. */
export function beginRead(): void {
  beginSlice();
  readAt = takenAt;
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

/** A read goes on in a later turn. */
export function isReadWaiting(): boolean {
  return waitingReads > 0;
}

/** Long work that somebody waits for began or went on in the last so many milliseconds. */
export function wasSliceTaken(milliseconds: number): boolean {
  return performance.now() - takenAt < milliseconds;
}

/** A read began in the last so many milliseconds. */
export function wasReadBegun(milliseconds: number): boolean {
  return performance.now() - readAt < milliseconds;
}

/** Resolves with a slice of a later turn, in which the owner goes on at once. */
export function nextSlice(owner: string): Promise<void> {
  return wait(owner, false);
}

/** As `nextSlice`, for a read. */
export function nextReadSlice(owner: string): Promise<void> {
  waitingReads++;
  return wait(owner, true);
}

/** Resolves once the owner may go on: at once, or in a later turn where the slice of this one is used up. */
export async function takeSlice(owner: string): Promise<void> {
  if (isSliceOver()) await nextSlice(owner);
  beginSlice();
}

function wait(owner: string, isRead: boolean): Promise<void> {
  const since = performance.now();
  const goesBefore = (other: Waiting): boolean =>
    isRead && !other.isRead && since - other.since < LONGEST_PASSED_MS;
  return new Promise((resume) => {
    waiting.push(owner, { resume, isRead, since }, goesBefore);
    if (waiting.size === 1) setImmediate(resumeOne);
  });
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
  const next = waiting.shift();
  if (waiting.size > 0) setImmediate(resumeOne);
  if (next === undefined) return;
  if (next.isRead) waitingReads--;
  // Its slice is its own: it ends before the loop sees what has arrived.
  takenAt = startedAt = performance.now();
  setTimeout(endSlice, 0);
  next.resume();
}

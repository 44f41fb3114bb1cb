/**
 * Which waiting texts run together. The oldest always runs, so none starves; texts of about its length join it while
 * the padded size (longest text times number of texts) stays within the budget. On a CPU padding costs as much as
 * text does, so likeness of length decides, not age: it more than doubles the speed over batches in order of arrival.
 */

/** Texts looked at for one batch, oldest first, so that a long queue costs no more than a short one. */
const LOOK_AHEAD = 1_024;

export interface QueuedText {
  /** Tokens, special ones included. */
  readonly length: number;
}

/**
 * Chooses the next batch out of a queue that is not empty, oldest first: positions, ascending and at least one, whose
 * padded size should stay within the budget.
 */
export type BatchPolicy = (queue: readonly QueuedText[], budgetTokens: number) => number[];

/**
 * Positions in `queue` (oldest first) of the next batch, ascending; position 0 is always among them. Only a single
 * text may exceed `budgetTokens`.
 */
export function takeBatch(queue: readonly QueuedText[], budgetTokens: number): number[] {
  const anchor = queue[0];
  if (anchor === undefined) return [];
  const candidates = queue
    .slice(1, LOOK_AHEAD)
    .map((text, index) => ({ position: index + 1, length: text.length }))
    .sort((a, b) => distance(a, anchor) - distance(b, anchor) || a.position - b.position);
  const taken = [0];
  let longest = anchor.length;
  for (const candidate of candidates) {
    if (longest * (taken.length + 1) > budgetTokens) break;
    const padded = Math.max(longest, candidate.length) * (taken.length + 1);
    if (padded > budgetTokens) continue;
    longest = Math.max(longest, candidate.length);
    taken.push(candidate.position);
  }
  return taken.sort((a, b) => a - b);
}

function distance(text: QueuedText, anchor: QueuedText): number {
  return Math.abs(text.length - anchor.length);
}

/**
 * What keeps calls that are sent twice from making an overload worse: each call earns a tenth of a second attempt, and a burst may
 * use what was saved up, so a peer that dies with many calls does not fail them.
 */
const EARNED = 0.1;
const MOST = 100;

export class CallBudget {
  #saved = MOST;

  /** A first attempt. */
  earn(): void {
    this.#saved = Math.min(MOST, this.#saved + EARNED);
  }

  /** Whether another attempt may be made; it is counted then. */
  take(): boolean {
    if (this.#saved < 1) return false;
    this.#saved -= 1;
    return true;
  }
}

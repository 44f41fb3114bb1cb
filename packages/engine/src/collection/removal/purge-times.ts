/** When purges are due, as shares of the time in which what was deleted has to be gone. */

export const DUE = 1 / 8;
/** From then on a purge does not wait for a moment in which nobody uses the collection. */
export const WITHOUT_WAITING = 1 / 4;

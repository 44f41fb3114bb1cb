/**
 * Where the server stands between its start and its end. It only ever moves forward: a child that restarts does not
 * take it back to `starting`.
 */

export type Phase = "starting" | "serving" | "draining";

const ORDER: readonly Phase[] = ["starting", "serving", "draining"];

export class Lifecycle {
  #phase: Phase = "starting";

  get phase(): Phase {
    return this.#phase;
  }

  advance(phase: Phase): void {
    if (ORDER.indexOf(phase) > ORDER.indexOf(this.#phase)) this.#phase = phase;
  }
}

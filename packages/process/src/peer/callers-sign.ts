/**
 * Whether the callers of one connection still wait. After a standstill of this process nobody knows: what it reads then, and
 * what it has under way, may be calls that were given up meanwhile and done elsewhere. So the other side is asked, and what it
 * says comes behind all that it has sent before: the calls, those that it has cancelled, or the end of the connection.
 */
import type { StandstillWatch } from "./standstill-watch.ts";

export class CallersSign {
  readonly #watch: StandstillWatch;
  readonly #ask: (standstill: number) => void;
  readonly #patienceMs: number | null;
  /** Standstills that there were when the callers gave their last sign. */
  #known: number;
  #asking: Promise<boolean> | null = null;
  #answer: (standstill: number | null) => void = () => {};
  #hasEnded = false;

  /**
   * @param ask Has the other side say the number, which comes to `heard`.
   * @param patienceMs How long that may take; one of an earlier version says nothing. `null`: however long it takes.
   */
  constructor(watch: StandstillWatch, ask: (standstill: number) => void, patienceMs: number | null) {
    this.#watch = watch;
    this.#ask = ask;
    this.#patienceMs = patienceMs;
    this.#known = watch.count;
  }

  /** `undefined`: this process has not stood still since the last sign. Resolves to whether there was one. */
  get wanted(): Promise<boolean> | undefined {
    if (this.#asking === null && this.#watch.count === this.#known) return undefined;
    return (this.#asking ??= this.#wait());
  }

  heard(standstill: number): void {
    this.#answer(standstill);
  }

  /** The connection has ended; its calls were aborted before. */
  end(): void {
    this.#hasEnded = true;
    this.#answer(null);
  }

  async #wait(): Promise<boolean> {
    for (;;) {
      const { count } = this.#watch;
      const isHeard = !this.#hasEnded && (await this.#signAfter(count));
      // One that was given before a later standstill says nothing of what was given up in that.
      if (isHeard && this.#watch.count !== count) continue;
      this.#known = count;
      this.#asking = null;
      return isHeard;
    }
  }

  #signAfter(count: number): Promise<boolean> {
    return new Promise((resolve) => {
      const late = this.#patienceMs === null ? undefined : setTimeout(() => resolve(false), this.#patienceMs);
      this.#answer = (standstill) => {
        if (standstill !== null && standstill !== count) return;
        clearTimeout(late);
        resolve(standstill !== null);
      };
      this.#ask(count);
    });
  }
}

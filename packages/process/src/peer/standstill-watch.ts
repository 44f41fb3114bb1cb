/**
 * Whether this process has stood still, paused, suspended with its machine or busy in one piece, for so long that others may
 * have taken it for dead and gone on without it.
 */

const LOOK_MS = 100;
/** Half of what makes a peer dead. */
const LONG_MS = 500;

interface Clocks {
  readonly steady: number;
  /** Goes on while the machine sleeps; where somebody sets it, that counts as a standstill, which costs a question. */
  readonly wall: number;
}

export class StandstillWatch {
  #turnedAt = clocks();
  #count = 0;

  constructor() {
    setInterval(() => this.#look(true), LOOK_MS).unref();
  }

  /** How often it has. One that has just ended counts, whether the event loop has turned since or not. */
  get count(): number {
    this.#look(false);
    return this.#count;
  }

  #look(hasTurned: boolean): void {
    const now = clocks();
    const { steady, wall } = this.#turnedAt;
    const isLong = Math.max(now.steady - steady, now.wall - wall) > LONG_MS;
    if (isLong) this.#count += 1;
    if (isLong || hasTurned) this.#turnedAt = now;
  }
}

function clocks(): Clocks {
  return { steady: performance.now(), wall: Date.now() };
}

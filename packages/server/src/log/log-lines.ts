/**
 * Where the log of a server goes. Every request leaves a line, and a system call for each would be as much work as the line
 * itself: so lines are written together, at most a moment after they were made. Warnings and errors do not wait, since
 * what they tell of may end the process.
 */

const METADATA: unique symbol = Symbol.for("pino.metadata");
const WARNING = 40;
const LONGEST_WAIT_MS = 50;
const MOST_CHARACTERS = 16_384;

/** A destination of pino, which sets `lastLevel` before each line because of the symbol. */
export class LogLines {
  readonly [METADATA] = true;
  lastLevel = WARNING;
  readonly #write: (text: string) => void;
  #waiting = "";
  #timer: NodeJS.Timeout | null = null;

  /** @param write Before it returns, the text is where a process that ends cannot lose it, if there is room for it. */
  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  write(line: string): void {
    this.#waiting += line;
    if (this.lastLevel >= WARNING || this.#waiting.length > MOST_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), LONGEST_WAIT_MS).unref();
  }

  /** To be called before the process ends. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const text = this.#waiting;
    this.#waiting = "";
    if (text !== "") this.#write(text);
  }
}

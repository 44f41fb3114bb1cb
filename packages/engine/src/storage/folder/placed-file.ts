/**
 * Tells whether a data file that is open is still the one at its path. What is written to one that was removed, or that another
 * one has replaced, would be lost with it, and nothing else would say so.
 */
import { statSync } from "node:fs";
import { damagedStore } from "../corrupt-data-error.ts";

export class PlacedFile {
  readonly #path: string;
  readonly #store: string;
  readonly #device: number;
  readonly #inode: number;

  /** Of a file that is open. @param store What messages call it. */
  constructor(path: string, store: string) {
    const { dev, ino } = statSync(path);
    this.#path = path;
    this.#store = store;
    this.#device = dev;
    this.#inode = ino;
  }

  get isInPlace(): boolean {
    return this.#whatWasDone() === null;
  }

  /** Throws `collection_unavailable` where it is not. Takes some microseconds. */
  requireInPlace(): void {
    const done = this.#whatWasDone();
    if (done === null) return;
    throw damagedStore(
      this.#store,
      `its data.mdb was ${done} while it was open, so nothing is written to it before the next start`,
    );
  }

  #whatWasDone(): "removed" | "replaced" | null {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found === undefined) return "removed";
    return found.ino === this.#inode && found.dev === this.#device ? null : "replaced";
  }
}

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

  /** Throws `collection_unavailable` where it is not. Takes some microseconds. */
  requireInPlace(): void {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found?.ino === this.#inode && found.dev === this.#device) return;
    const what = found === undefined ? "removed" : "replaced";
    throw damagedStore(
      this.#store,
      `its data.mdb was ${what} while it was open, so nothing is written to it before the next start`,
    );
  }
}

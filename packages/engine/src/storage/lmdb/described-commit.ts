/**
 * One transaction of lmdb-js that is described to its thread in several turns of the event loop. What lmdb-js calls a
 * batch has to be described in one turn, and the thread ends its transaction where it finds no further batch. So the
 * start of the thread is held back until all batches are there; then they are one transaction.
 *
 * The method that starts the thread is private to lmdb-js. Without it, in another version, this throws when a store is opened.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import type { RootDatabase } from "lmdb";
import { beginSlice, isSliceOver } from "@sheaf/process";
import { PlacedFile } from "../folder/placed-file.ts";
import type { EnvironmentOptions } from "./environment-options.ts";
import type { WriteTarget } from "./pending-writes.ts";

const STDERR = 2;

/** What lmdb-js has and its types leave out. */
interface Batching extends WriteTarget {
  /** All that `action` puts and removes becomes one transaction. */
  batch(action: () => void): Promise<boolean>;
  readonly env: { readonly startWriting: StartWriting };
}

type StartWriting = (this: unknown, address: number, onProgress: (status: number) => unknown) => void;

export class DescribedCommit {
  readonly #database: Batching;
  readonly #start: StartWriting;
  readonly #file: PlacedFile;
  #isHeld = false;
  /** Starts the thread, which was to be started meanwhile. */
  #held: (() => void) | null = null;

  /** @param database Of that folder. */
  constructor(
    database: RootDatabase<Uint8Array, Uint8Array>,
    { folder, name }: Pick<EnvironmentOptions, "folder" | "name">,
  ) {
    this.#file = new PlacedFile(join(folder, "data.mdb"), name);
    this.#database = database as typeof database & Batching;
    const { env } = this.#database;
    this.#start = env.startWriting;
    if (typeof this.#start !== "function")
      throw new TypeError("lmdb-js has no method that starts its thread");
    const value: StartWriting = (address, onProgress) => {
      const start = (): void => this.#start.call(env, address, onProgress);
      if (this.#isHeld) this.#held = start;
      else start();
    };
    Object.defineProperty(env, "startWriting", { value });
  }

  /**
   * Resolves once what the steps of `describe` write is on disk. Nothing else may be written until then; `pause` never rejects.
   * Throws `collection_unavailable` where another file is in the place of the one that is open.
   */
  async commit(
    describe: (target: WriteTarget) => Generator<void, void>,
    pause: () => Promise<unknown>,
  ): Promise<void> {
    this.#file.requireInPlace();
    const batches: Promise<boolean>[] = [];
    const steps = describe(this.#database);
    let isDone = false;
    this.#isHeld = true;
    for (;;) {
      beginSlice();
      batches.push(this.#database.batch(() => (isDone = described(steps))));
      if (isDone) break;
      await pause();
    }
    this.#isHeld = false;
    this.#held?.();
    this.#held = null;
    await Promise.all(batches);
  }
}

/** As many steps as there is time for; whether these were all. */
function described(steps: Generator<void, void>): boolean {
  try {
    for (;;) {
      if (steps.next().done === true) return true;
      if (isSliceOver()) return false;
    }
  } catch {
    // lmdb-js would commit the half that it has; without the process it cannot. Who finds it ended reads why.
    writeSync(STDERR, "out of memory while a commit was put together\n");
    return process.abort();
  }
}

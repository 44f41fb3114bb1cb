/**
 * Removes entries of shared environments that nothing leads to any more, behind the calls: what collections leave there that
 * were dropped or have moved. It goes by the marks in the catalog, so a start goes on where the process before has ended.
 */
import { takeSlice } from "@sheaf/process";
import type { ShareCatalog } from "../../catalog/share-catalog.ts";
import type { SharedStores } from "../../storage/lmdb/shared-stores.ts";

/** Marks that one commit takes away. */
const AT_ONCE = 256;
/** Until what was in use is looked at again. */
const AGAIN_MS = 1_000;

export interface DeleteBehindOptions {
  readonly marks: Pick<ShareCatalog, "leftBehind" | "isLeftBehind" | "unmark">;
  readonly stores: Pick<SharedStores, "clear" | "isReserved">;
  /** The share stays, and the next start tries again. */
  readonly onProblem: (error: unknown, collection: string) => void;
}

export class DeleteBehind {
  readonly #options: DeleteBehindOptions;
  /** Never rejects; `null`: nothing is under way. */
  #running: Promise<void> | null = null;
  #isAsked = false;
  #isHeldNow = false;
  #isClosing = false;
  #again: NodeJS.Timeout | undefined;

  constructor(options: DeleteBehindOptions) {
    this.#options = options;
  }

  /** All entries have to stay where they are. */
  get isHeld(): boolean {
    return this.#isHeldNow;
  }

  /** There are marks. */
  start(): void {
    this.#isAsked = true;
    if (this.#isHeldNow || this.#isClosing) return;
    this.#running ??= this.#run();
  }

  /** All entries stay where they are until what it returns is called. One at a time. */
  hold(): () => void {
    this.#isHeldNow = true;
    return () => {
      this.#isHeldNow = false;
      if (this.#isAsked) this.start();
    };
  }

  /** After what is under way. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#again);
    await this.#running;
  }

  get #isStopped(): boolean {
    return this.#isHeldNow || this.#isClosing;
  }

  async #run(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      try {
        await this.#removeAll();
      } catch (error) {
        this.#options.onProblem(error, "");
      }
    }
    // At once: what is asked for from here on is for the next run.
    this.#running = null;
  }

  async #removeAll(): Promise<void> {
    const { marks, stores } = this.#options;
    let after: string | null = null;
    for (;;) {
      const ids: readonly string[] = await marks.leftBehind(after, AT_ONCE);
      if (ids.length === 0) return;
      const removed: string[] = [];
      await Promise.all(ids.map(async (id) => (await this.#remove(id)) && removed.push(id)));
      // Meanwhile somebody may put new entries there, and the mark is theirs.
      const empty = removed.filter((id) => !stores.isReserved(id));
      if (empty.length > 0) await marks.unmark(empty);
      if (this.#isStopped) {
        this.#isAsked = true;
        return;
      }
      after = ids.at(-1)!;
      await takeSlice("");
    }
  }

  /** `false`: it is in use, or there is a problem. */
  async #remove(id: string): Promise<boolean> {
    const { marks, stores, onProblem } = this.#options;
    if (this.#isStopped) return false;
    try {
      const outcome = await stores.clear(id, () => marks.isLeftBehind(id));
      if (outcome === "in use") this.#lookAgain();
      return outcome === "cleared";
    } catch (error) {
      onProblem(error, id);
      return false;
    }
  }

  #lookAgain(): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.start(), AGAIN_MS).unref();
  }
}

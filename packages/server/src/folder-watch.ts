/**
 * Notices that a server has lost its data folder: somebody removed or moved it, or the disk below it is gone. Files that are open
 * can still be read then, and whatever needs another one fails, for as long as the server runs.
 */
const LOOK_MS = 1_000;

export class FolderWatch {
  /** Resolves once it is lost. */
  readonly lost: Promise<void>;
  #timer!: NodeJS.Timeout;

  /** @param hasFolder May throw where nobody can tell. */
  constructor(hasFolder: () => boolean) {
    this.lost = new Promise((resolve) => {
      const look = (): void => {
        if (isThere(hasFolder)) return;
        this.close();
        resolve();
      };
      this.#timer = setInterval(look, LOOK_MS).unref();
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function isThere(hasFolder: () => boolean): boolean {
  try {
    return hasFolder();
  } catch {
    return true;
  }
}

/** What the files of this lane have in common: a browser, a server with notes, and pages that are closed after each test. */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type FilledServer, ROOT_KEY, startFilledServer } from "./filled-server.ts";
import { type OpenOptions, OpenedConsole, launchBrowser } from "./opened-console.ts";

export class ConsoleLane {
  #server: FilledServer | null = null;
  #browser: Browser | null = null;
  readonly #opened: OpenedConsole[] = [];

  constructor() {
    beforeAll(async () => {
      [this.#server, this.#browser] = await Promise.all([startFilledServer(), launchBrowser()]);
    });
    afterAll(async () => {
      await this.#browser?.close();
      await this.#server?.served.stop();
    });
    afterEach(async () => {
      for (const opened of this.#opened.splice(0)) await opened.close();
    });
  }

  get server(): FilledServer {
    return this.#server!;
  }

  /** Signed in with the root key, unless another one is named. */
  open(options: Partial<OpenOptions> = {}): Promise<OpenedConsole> {
    return this.openPage({ key: ROOT_KEY, ...options });
  }

  /** Signed in only where a key is named. */
  async openPage(options: Partial<OpenOptions> = {}): Promise<OpenedConsole> {
    const opened = await OpenedConsole.open(this.#browser!, { url: this.server.url, ...options });
    this.#opened.push(opened);
    return opened;
  }
}

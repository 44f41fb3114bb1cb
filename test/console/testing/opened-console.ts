/**
 * Debian's Chromium on the console of a server. Whatever a page writes to its console, throws or loads from elsewhere fails the
 * test that opened it. Screenshots go to `SHEAF_CONSOLE_ARTEFACTS`, or to a folder for temporary files; the pictures of the
 * guide also to `SHEAF_CONSOLE_PICTURES`, if that is set.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, type Page, chromium } from "playwright-core";
import { expect } from "vitest";

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const ACTION_MS = 30_000;
/** Of a picture in the repository. */
const PICTURE_BYTES = 150_000;
const PICTURES = process.env["SHEAF_CONSOLE_PICTURES"];

export const ARTEFACTS = process.env["SHEAF_CONSOLE_ARTEFACTS"] ?? join(tmpdir(), "sheaf-console");

export async function launchBrowser(): Promise<Browser> {
  const executablePath = BROWSERS.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error("no Chromium: `apt-get install chromium` brings it");
  mkdirSync(ARTEFACTS, { recursive: true });
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

export interface OpenOptions {
  /** Address of the server, with whatever prefix stands before its paths. */
  readonly url: string;
  /** Behind the `#`. */
  readonly place?: string;
  /** Signs in with it; without one the page stays where it is. */
  readonly key?: string;
  readonly width?: number;
  readonly colorScheme?: "light" | "dark";
}

export class OpenedConsole {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #faults: string[] = [];

  private constructor(context: BrowserContext, page: Page, url: string) {
    this.#context = context;
    this.page = page;
    page.on("console", (message) => {
      // What the server refuses is shown by the page, and logged by the browser.
      const isRefusal = message
        .text()
        .startsWith("Failed to load resource: the server responded with a status of 4");
      if (!isRefusal && ["error", "warning"].includes(message.type())) this.#faults.push(message.text());
    });
    page.on("pageerror", (error) => this.#faults.push(String(error)));
    page.on("dialog", (dialog) => {
      this.#faults.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const target = request.url();
      if (!target.startsWith(url) && !/^(?:data|blob):/u.test(target)) this.#faults.push(`loads ${target}`);
    });
  }

  static async open(browser: Browser, options: OpenOptions): Promise<OpenedConsole> {
    const { url, place = "", key, width = 1280, colorScheme = "light" } = options;
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme,
      acceptDownloads: true,
    });
    context.setDefaultTimeout(ACTION_MS);
    const opened = new OpenedConsole(context, await context.newPage(), url);
    await opened.page.goto(`${url}/console/${place}`);
    if (key !== undefined) await opened.signIn(key);
    return opened;
  }

  async signIn(key: string): Promise<void> {
    await this.page.getByLabel("API key").fill(key);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.page.getByRole("navigation", { name: "Views" }).waitFor();
  }

  /** Goes there as a followed link does. */
  async go(place: string): Promise<void> {
    await this.page.evaluate((hash) => {
      location.hash = hash;
    }, place);
  }

  /** WCAG 2.1 AA as far as axe sees. */
  async expectAccessible(): Promise<void> {
    const { violations } = await new AxeBuilder({ page: this.page })
      .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"])
      .analyze();
    const found = violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .join(" ")
          .slice(0, 300)}`,
    );
    expect(found).toEqual([]);
  }

  async screenshot(name: string): Promise<void> {
    await this.page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: true });
  }

  /** What the window shows, as the guide does. */
  async picture(name: string): Promise<void> {
    await this.page.mouse.move(0, 0);
    const picture = await this.page.screenshot({ path: join(ARTEFACTS, `${name}.png`) });
    expect(picture.length).toBeLessThan(PICTURE_BYTES);
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    writeFileSync(join(PICTURES, `${name}.png`), picture);
  }

  /** Pixels by which the page is wider than its window. */
  overflow(): Promise<number> {
    return this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  }

  /** Milliseconds until the largest content was painted. */
  largestContentfulPaint(): Promise<number> {
    return this.page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          new PerformanceObserver((list) => resolve(list.getEntries().at(-1)?.startTime ?? 0)).observe({
            type: "largest-contentful-paint",
            buffered: true,
          });
        }),
    );
  }

  expectQuiet(): void {
    expect(this.#faults).toEqual([]);
  }

  async close(): Promise<void> {
    await this.#context.close();
  }
}

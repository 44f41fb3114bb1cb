/** The map of a large collection: all of it is read and laid out while the page goes on. */
import { SheafClient } from "@sheaf/client";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { scriptPerFrame } from "./testing/frame-script.ts";
import { OpenedConsole, launchBrowser } from "./testing/opened-console.ts";

const RECORDS = 20_000;
const DIMENSION = 384;
const GROUPS = 4;
/** Tell slow from hung, on a machine that does other things, too. */
const UMAP_MS = 600_000;
const ACTION_MS = 60_000;

let served: ServedSheaf;
let browser: Browser;
beforeAll(async () => {
  [served, browser] = await Promise.all([ServedSheaf.start(), launchBrowser()]);
  const client = new SheafClient({ url: served.url, key: ROOT_KEY });
  const collection = await client.createCollection({
    name: "many",
    configuration: { embedding_function: null },
  });
  await collection.add({
    records: Array.from({ length: RECORDS }, (_, i) => ({
      id: `record ${i}`,
      embedding: vectorOf(i),
      document: `The text of record ${i}.`,
      metadata: { group: `group ${i % GROUPS}`, i },
    })),
  });
});
afterAll(async () => {
  await browser?.close();
  await served?.stop();
});

/** The same ones each time: groups lie apart. */
function vectorOf(i: number): Float32Array {
  const group = i % GROUPS;
  return Float32Array.from(
    { length: DIMENSION },
    (_, j) => (j % GROUPS === group ? 1 : 0) + 2 * noise(i * DIMENSION + j),
  );
}

/** From -0.5 to 0.5, by the finaliser of MurmurHash3. */
function noise(i: number): number {
  let hash = Math.imul(i ^ (i >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32 - 0.5;
}

const at = (query: string): string => `#/map/default_tenant/default_database/many${query}`;

describe("the map of 20,000 records", () => {
  it("is laid out while the page goes on", async () => {
    const console = await OpenedConsole.open(browser, { url: served.url, key: ROOT_KEY });
    const { page } = console;
    const startedAt = performance.now();
    const script = await scriptPerFrame(browser, page, async () => {
      await console.go(at(`?colour=group&size=${RECORDS}`));
      await page.getByRole("img", { name: "A map of 20000 records by pca" }).waitFor();
    });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const { frames, p50, p95, longest } = script;
    const figures = `p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, longest ${longest.toFixed(1)} ms`;
    globalThis.console.log(
      `20,000 records by PCA after ${seconds} s; script in ${frames} frames: ${figures}`,
    );
    // A trace without the work of the page would show nothing.
    expect(frames).toBeGreaterThan(100);
    await page.getByText("group 3", { exact: true }).waitFor();
    await console.picture("map");
    console.expectQuiet();
    await console.close();
  });

  it("is laid out by UMAP until that is cancelled, before and in the middle of the picture", async () => {
    const console = await OpenedConsole.open(browser, {
      ...{ url: served.url, key: ROOT_KEY, place: at("?size=1000&layout=umap") },
    });
    const { page } = console;
    const progress = page.getByRole("progressbar", { name: "Layout" });
    const cancel = page.getByRole("button", { name: "Cancel" });
    const workers = (): number => page.workers().length;
    await page.getByText("Comparing the vectors…").waitFor();
    await progress.waitFor();
    await cancel.click();
    await page.getByRole("img", { name: "A map of 1000 records by pca" }).waitFor();
    await page.getByRole("combobox", { name: "Layout" }).selectOption("umap");
    // The first picture stands before the last round.
    await page.getByRole("img", { name: "A map of 1000 records by umap" }).waitFor();
    const reached = Number(await progress.getAttribute("value"));
    expect(reached).toBeGreaterThan(0);
    expect(reached).toBeLessThan(1);
    await cancel.click();
    await page.getByRole("img", { name: "A map of 1000 records by pca" }).waitFor();
    await progress.waitFor({ state: "detached" });
    // No round is worked on behind the page.
    await expect.poll(workers, { timeout: ACTION_MS }).toBe(0);
    console.expectQuiet();
    await console.close();
  });

  it(
    "shows the progress of UMAP for 5,000 until it is done",
    async () => {
      const console = await OpenedConsole.open(browser, {
        ...{ url: served.url, key: ROOT_KEY, place: at("?size=5000&layout=umap&colour=group") },
      });
      const { page } = console;
      const startedAt = performance.now();
      const progress = page.getByRole("progressbar", { name: "Layout" });
      const seen = new Set<number>();
      await page.getByRole("img", { name: "A map of 5000 records by umap" }).waitFor({ timeout: UMAP_MS });
      const firstAt = performance.now();
      while ((await progress.count()) > 0) {
        // It may have gone since it was counted.
        const value = await progress.getAttribute("value", { timeout: 1_000 }).catch(() => null);
        if (value !== null) seen.add(Number(value));
      }
      const seconds = (ms: number): string => ((ms - startedAt) / 1_000).toFixed(1);
      globalThis.console.log(
        `5,000 records by UMAP: first picture after ${seconds(firstAt)} s, done after ${seconds(performance.now())} s`,
      );
      // It went on from picture to picture.
      expect(seen.size).toBeGreaterThan(1);
      expect([...seen]).toEqual([...seen].toSorted((a, b) => a - b));
      expect(await page.getByRole("button", { name: "Cancel" }).count()).toBe(0);
      await console.screenshot("map-umap-5000");
      console.expectQuiet();
      await console.close();
    },
    UMAP_MS,
  );
});

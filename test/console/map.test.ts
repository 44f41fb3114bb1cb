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

  it("shows the progress of UMAP for 5,000, and ends it", async () => {
    const console = await OpenedConsole.open(browser, {
      ...{ url: served.url, key: ROOT_KEY, place: at("?size=5000&layout=umap") },
    });
    const { page } = console;
    await page.getByText("Comparing the vectors…").waitFor();
    await page.getByRole("progressbar", { name: "Layout" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("img", { name: "A map of 5000 records by pca" }).waitFor();
    const startedAt = performance.now();
    await page.getByRole("combobox", { name: "Records" }).selectOption("1000");
    await page.getByRole("combobox", { name: "Layout" }).selectOption("umap");
    await page.getByRole("img", { name: "A map of 1000 records by umap" }).waitFor();
    const progress = page.getByRole("progressbar", { name: "Layout" });
    await progress.waitFor({ state: "detached" });
    expect(await page.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    globalThis.console.log(`1,000 records by UMAP after ${seconds} s`);
    console.expectQuiet();
    await console.close();
  });
});

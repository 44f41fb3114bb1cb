/** Signing in, the overview, and what stands around every view. */
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { ConsoleLane } from "./testing/console-lane.ts";
import { NOTES, ROOT_KEY } from "./testing/filled-server.ts";
import { ARTEFACTS } from "./testing/opened-console.ts";

const lane = new ConsoleLane();
const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NOTES}${query}`;
afterAll(() => console.log(`screenshots: ${ARTEFACTS}`));

describe("signing in", () => {
  it("refuses a wrong key, takes a right one, keeps it in the tab only, and forgets it", async () => {
    const console = await lane.openPage();
    const { page } = console;
    await page.getByLabel("API key").fill("no-key");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await console.expectAccessible();
    await console.signIn(ROOT_KEY);
    await page.reload();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    expect(page.url()).not.toContain(ROOT_KEY);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(ROOT_KEY);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    console.expectQuiet();
  });

  it("offers a key that reads no more than reading", async () => {
    const console = await lane.open({ key: lane.server.readKey, place: at("data") });
    const { page } = console;
    await page.getByRole("button", { name: "note-1" }).click();
    await page.getByRole("heading", { name: "Metadata" }).waitFor();
    for (const name of ["Edit", "Delete", "Add a record", "Import files", "Keys"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    console.expectQuiet();
  });
});

describe("the overview", () => {
  it("shows the tenant, its collections and the last hour", async () => {
    const console = await lane.open();
    const { page } = console;
    const row = page.getByRole("row").filter({ hasText: NOTES });
    await row.getByText("sentence-transformers/all-MiniLM-L6-v2").waitFor();
    expect(await row.innerText()).toMatch(/6[\s\S]*384[\s\S]*100 %[\s\S]*(?:just now|min ago)/u);
    await page.getByRole("group", { name: "Processes" }).getByText("engine host: no restarts").waitFor();
    await page.getByRole("region", { name: "Tenants" }).getByRole("link", { name: "acme" }).waitFor();
    await console.expectAccessible();
    await console.picture("overview");
    globalThis.console.log(`LCP ${Math.round(await console.largestContentfulPaint())} ms`);
    await row.getByRole("button", { name: NOTES }).click();
    await page.getByRole("button", { name: "note-1" }).waitFor();
    console.expectQuiet();
  });
});

describe("the first load", () => {
  it("takes at most 350 kB, compressed", async () => {
    const console = await lane.openPage();
    const sizes = new Map<string, number>();
    console.page.on("response", (response) => {
      if (!response.url().includes("/assets/")) return;
      void response.body().then(
        (body) => sizes.set(response.url(), gzipSync(body).length),
        () => undefined,
      );
    });
    await console.page.reload();
    await console.signIn(ROOT_KEY);
    await console.page.getByRole("row").filter({ hasText: NOTES }).waitFor();
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    globalThis.console.log(`first load: ${Math.round(bytes / 1_000)} kB in ${sizes.size} files`);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(350_000);
    console.expectQuiet();
  });

  it("asks for no key where the server asks for none", async () => {
    const open = await ServedSheaf.start({ args: ["--auth", "off"] });
    const console = await lane.openPage({ url: open.url });
    const { page } = console;
    await page.getByText("There are no collections yet.").waitFor();
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    await console.expectAccessible();
    console.expectQuiet();
    await open.stop();
  });
});

describe("the page around the views", () => {
  it("goes anywhere by keyboard", async () => {
    const console = await lane.open();
    const { page } = console;
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /View, collection/u }).fill(`data of ${NOTES}`);
    await page.getByRole("option", { name: `Data of ${NOTES}` }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "note-1" }).waitFor();
    await page.locator("main").focus();
    await page.keyboard.press("/");
    expect(await page.getByLabel("Filter").evaluate((field) => field === document.activeElement)).toBe(true);
    console.expectQuiet();
  });

  it("is dark where the system is, and fits a narrow screen", async () => {
    const console = await lane.open({ place: at("search"), width: 380, colorScheme: "dark" });
    const { page } = console;
    await page.getByLabel("Text").fill("ships");
    await page.getByRole("region", { name: "Results" }).getByText("note-1").waitFor();
    expect(await console.overflow()).toBeLessThanOrEqual(0);
    await console.expectAccessible();
    await console.screenshot("search-narrow-dark");
    console.expectQuiet();
  });
});
